"""Docker, Kubernetes, networks and a foreign Kafka, for tests that need the real ones."""
