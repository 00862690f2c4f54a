"""Screens: which values anything can be wrong with, told by a run's files before Spark is asked."""
