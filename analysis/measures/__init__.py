"""Measures beside the anomalies: counts, latencies, leadership, replication."""
