"""Who says so: the sources that promises name."""

REPLICATION = "Kafka documentation, Design: Replication"
ACKS = "Kafka documentation, Producer Configs: acks"
UNCLEAN = "Kafka documentation, Topic Configs: unclean.leader.election.enable"
FLUSH = "KIP-966; Kafka documentation, Topic Configs: flush.messages"
CRCS = "librdkafka, CONFIGURATION.md: check.crcs"
SEMANTICS = "Kafka documentation, Design: Message Delivery Semantics"
AUTO_COMMIT = "librdkafka, CONFIGURATION.md: enable.auto.commit, enable.auto.offset.store"
