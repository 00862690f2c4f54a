"""The transactions of a run: which hang, and which are settled."""
