"""Rows that no recorder and no sealing writes, and rows and events that are missing."""
