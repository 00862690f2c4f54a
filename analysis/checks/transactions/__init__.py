"""Transactions: all of one or nothing, and none that rests on what is not decided."""
