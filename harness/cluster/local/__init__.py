"""The local backend: nodes as processes in private Linux namespaces of this host.

May import what clusters share, and no other backend.
"""
