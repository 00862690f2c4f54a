"""Parts of the page that are made beside it: evidence, close-up, counters, files; and the index.

May import what reports may import; the index page nothing that starts Spark.
"""
