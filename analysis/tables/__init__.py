"""Two tables of another program, sends and reads, turned into operations of a history and checked
(docs/tables.md). This package needs PySpark and the standard library alone.
"""
