"""Changes of leaders: what a new leader, an unclean election and a stale leader permit."""
