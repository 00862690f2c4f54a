"""The checkers: one family of anomalies a file, with its rules, its words and its promises.

`anomaly` is what such a file states; `analysis.anomalies` lists them.
"""
