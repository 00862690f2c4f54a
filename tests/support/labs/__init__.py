"""Docker, Kubernetes, networks, stores, Spark and a foreign Kafka, for tests that need the real ones."""
