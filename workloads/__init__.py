"""The workers: one OS process each. The harness starts them by `python -m`, and imports none."""
