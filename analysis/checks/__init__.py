"""The checkers: one family of anomalies per file, with its rules, its words and its promises.

Each file states records of `anomaly`; `analysis.anomalies` lists them.
"""
