"""The docker backend: nodes as containers of a compose project.

May import what clusters share, and no other backend.
"""
