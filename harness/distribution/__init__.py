"""Kafka itself: fetches its jars, and makes the class archives that start them faster.

What set-up starts (kafka_home, ivy) uses the standard library only.
"""
