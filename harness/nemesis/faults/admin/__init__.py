"""What an operator does by Kafka's own commands: elections, reassignments, settings, dumps.

May import harness.nemesis.verb and what verbs share in faults.processes.
"""
