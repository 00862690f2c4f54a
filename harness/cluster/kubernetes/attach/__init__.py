"""A Kafka in pods that somebody else made: found by selectors, hit from ephemeral containers.

May import what harness.cluster.kubernetes may, and never own.
"""
