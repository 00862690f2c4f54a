"""What a run did, not what went wrong: rates, latencies, leadership, replication, evidence.

May import frames.
"""
