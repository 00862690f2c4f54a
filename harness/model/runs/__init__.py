"""A stored run: its folder, its run.json, and how to read older ones."""
