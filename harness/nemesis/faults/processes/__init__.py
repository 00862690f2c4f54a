"""Faults of processes: signals, restarts."""
