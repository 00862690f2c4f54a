"""Runs in a store that Spark reaches (HDFS, S3, …), and Spark clusters that do not share our disk.

May import analysis.stored, harness.history and harness.model.
"""
