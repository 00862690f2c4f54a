"""Kafka itself: its jars, where they come from, and the class archives that start them faster.

What set-up starts (kafka_home, ivy) is standard library only.
"""
