"""What is read of the transactions of a run: which read from one another, hang, and are settled."""
