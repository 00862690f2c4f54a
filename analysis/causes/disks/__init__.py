"""Causes that are of disks: what a node lost of what it had written, or what was changed of it."""
