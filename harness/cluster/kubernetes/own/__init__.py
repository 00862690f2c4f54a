"""A cluster in pods that the run makes itself: its objects, its nodes, the machines they are on.

May import what harness.cluster.kubernetes may, and never attach.
"""
