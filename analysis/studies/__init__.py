"""Pages made of many runs: docs/study.md and docs/backends.md.

May import anomalies and report.
"""
