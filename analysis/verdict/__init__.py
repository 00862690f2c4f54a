"""From anomalies to a verdict: what the configuration promises, what the scenario demands.

May import frames and the checks' names.
"""
