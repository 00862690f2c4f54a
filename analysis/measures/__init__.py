"""Numbers that are no anomalies: counts, latencies, leadership, replication."""
