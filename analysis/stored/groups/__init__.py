"""A consumer group in a stored run: when its members stopped, and what their resets passed over."""
