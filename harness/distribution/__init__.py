"""Kafka itself: its jars, where they come from, and the class archives that start them faster.

May import host. Standard library only.
"""
