"""report.json and everything made of it: headline, page, timeline, junit.

May import verdict, queries, and all that these may import.
"""
