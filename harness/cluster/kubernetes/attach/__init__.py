"""A Kafka in pods that somebody else made: found by selectors, hit from ephemeral containers."""
