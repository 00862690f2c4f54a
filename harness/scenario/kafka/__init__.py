"""Decides which Kafka a scenario runs, and what its keys mean there."""
