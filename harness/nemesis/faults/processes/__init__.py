"""Faults of processes: signals, restarts.

May import harness.nemesis.verb, and no other room of faults.
"""
