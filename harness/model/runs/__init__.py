"""A run as it is stored: its folder, run.json, and how older ones are read."""
