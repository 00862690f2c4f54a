"""This machine: its size and load, its system packages, its Linux namespaces.

May import waiting and release. Standard library only.
"""
