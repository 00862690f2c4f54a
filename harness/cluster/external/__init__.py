"""The external backend: a Kafka that is already there, known by an address.

May import what clusters share, and no other backend.
"""
