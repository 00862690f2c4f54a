"""Numbers that are no anomalies: counts, latencies, leadership, replication.

May import checks and frames.
"""
