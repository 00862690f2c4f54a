"""Causes on disks: written records that a node lost or that were changed."""
