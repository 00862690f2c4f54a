"""Definitions of messages that kafka-python does not have."""
