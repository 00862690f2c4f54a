"""Replicas: what each of them has and, where they are sampled, how far each has come."""
