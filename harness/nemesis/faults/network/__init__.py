"""Faults of the network: cut, lost, delayed and throttled packets, and the rules that do it.

May import harness.nemesis.verb and what verbs share in faults.processes.
"""
