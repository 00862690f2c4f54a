"""Runs the experiment: scenario -> cluster, workers, nemesis -> history. Formats are in docs/."""
