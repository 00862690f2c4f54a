"""Breaks the cluster on purpose and heals it: verbs (faults) x targets, by a plan, with proof."""
