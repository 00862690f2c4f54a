"""Transactions: all of one or nothing, and no reads of what is not decided."""
