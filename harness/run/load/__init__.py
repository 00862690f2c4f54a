"""Starts, counts, replaces and ends the worker processes of a run."""
