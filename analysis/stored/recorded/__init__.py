"""What is recorded and what is not: rows that no recorder and no sealing writes.

May import harness.history.
"""
