"""Commands about this machine: doctor, set-up, images, Kafka's jars, old runs."""
