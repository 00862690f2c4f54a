"""What the harness asks of brokers and changes in them: topics, settings, elections, groups."""
