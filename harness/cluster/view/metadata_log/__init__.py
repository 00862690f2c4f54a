"""KRaft's metadata log as its voters have it on disk: what is committed, and what that says."""
