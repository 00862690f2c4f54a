"""This machine: its size and load, its system packages, its Linux namespaces.

Standard library only.
"""
