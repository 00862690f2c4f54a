"""Runs of a cell taken together: shares with their intervals, sittings, and which runs and cells
are one experiment."""
