"""The Spark session that the checks run in.

May import nothing else of ours.
"""
