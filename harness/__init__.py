"""Runs the experiment: scenario -> cluster, workers, nemesis -> history. See docs/ for the formats."""
