"""Faults of disks and power: full, frozen, slow, failing, wiped, one bit flipped.

May import harness.nemesis.verb and what verbs share in faults.processes.
"""
