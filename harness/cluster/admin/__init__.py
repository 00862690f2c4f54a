"""Administration of brokers: topics, settings, elections, groups."""
