"""The Spark session that the checks run in.

Imports nothing else of ours.
"""
