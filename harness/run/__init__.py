"""Carries out one run: cluster up, load under faults, heal, final read, collect.

`python -m harness.run FOLDER` is the run's own process.
"""
