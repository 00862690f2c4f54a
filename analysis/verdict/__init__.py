"""From anomalies to a verdict: doubts, what is promised, what the scenario demands.

May import anomalies, checks, measures, run_facts and frames.
"""
