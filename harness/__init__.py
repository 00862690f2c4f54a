"""Runs the experiment: scenario -> cluster, workers, nemesis -> history. Formats are in docs/.

May import analysis in commands alone, and never workloads: it starts them.
"""
