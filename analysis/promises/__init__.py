"""What an anomaly's promises are made of, and what decides them: configuration and faults.

May import frames.
"""
