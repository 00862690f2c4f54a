"""What a cluster says of itself: leader, ISR, controller, coordinators, log ends.

May import harness.cluster's nodes, capabilities and settings; no backend.
"""
