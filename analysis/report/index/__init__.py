"""The page over a results folder: its runs, what settings changed in them, how nights went.

May import what harness.model and the parts of reports may; nothing that starts Spark.
"""
