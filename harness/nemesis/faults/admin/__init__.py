"""What an operator does by Kafka's own commands: elections, reassignments, settings, dumps."""
