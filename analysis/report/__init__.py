"""report.json and everything made of it: headline, page, timeline, junit.

May import verdict, measures and frames.
"""
