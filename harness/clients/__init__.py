"""Configurations of Kafka's clients: complete defaults, Java's names, a user's own files."""
