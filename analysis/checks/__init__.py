"""The checkers: one family of anomalies a file, with its rules, its words and its promises.

May import promises and frames; `analysis.anomalies` lists them.
"""
