"""Replicas: what each of them holds and, where they are sampled, how far each has come."""
