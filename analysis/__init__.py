"""The checkers: a Spark job over stored runs. It never talks to Kafka.

May import harness.history, harness.model and harness.checkout; never workloads.
"""
