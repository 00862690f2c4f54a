"""Faults of disks and power: full, frozen, slow, failing, wiped, one bit flipped."""
