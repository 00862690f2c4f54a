"""Reads a scenario, the user's own files and --set, and lays them over each other."""
