"""The external backend: a Kafka that is already there, known by an address."""
