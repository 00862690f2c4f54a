"""Stored runs, read with suspicion: run.json and tables, and what of them is damaged."""
