"""Makes a history of two tables of another program, sends and reads, and checks it
(docs/tables.md). This package needs PySpark and the standard library alone.
"""
