"""This machine: its facts, its system packages, its Linux namespaces.

May import waiting. Standard library only.
"""
