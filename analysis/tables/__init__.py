"""Two tables of anybody's, sends and reads, made operations of a history (docs/tables.md), and what
the checkers find in them. PySpark and the standard library are all that is needed here.
"""
