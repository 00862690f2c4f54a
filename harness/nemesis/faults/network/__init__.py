"""Faults of the network: cut, lost, delayed and throttled packets, and the rules that do it."""
