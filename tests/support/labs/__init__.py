"""Docker, Kubernetes, networks, stores, Spark, a foreign Kafka: for tests that need real ones."""
