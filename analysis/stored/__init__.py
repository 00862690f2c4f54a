"""Stored runs, validated as they are read: run.json and tables, and their damage."""
