"""Pages made of many runs: docs/study.md and docs/backends.md.

May import report.wording.
"""
