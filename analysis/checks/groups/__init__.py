"""Consumer groups: their processing, their commits, and the owners of partitions."""
