"""The checkers: one family of anomalies a file, with its rules, its words and its promises.

Such a file is made of `anomaly` and `promise`; `analysis.anomalies` lists what is in them.
May import run_facts and frames.
"""
