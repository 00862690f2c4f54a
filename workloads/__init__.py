"""The workers: one OS process each. The harness starts them with `python -m`, it never imports them."""
