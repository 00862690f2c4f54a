"""Screens: the values of a run that may have an anomaly, found in its files before Spark looks."""
