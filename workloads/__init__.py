"""The workers: one OS process each. The harness starts them by `python -m`, and imports none.

May import harness.history.recorder, record_format and progress_page, which need no package.
"""
