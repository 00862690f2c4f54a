"""From a scenario file to a prepared run: reads, checks and resolves it; starts nothing."""
