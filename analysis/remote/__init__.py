"""Runs in a store that Spark reaches (HDFS, S3, …), and Spark clusters without our disk."""
