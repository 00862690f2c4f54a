"""The checkers: one family of anomalies a file, DataFrame -> DataFrame, a row an anomaly.

May import promises and frames.
"""
