"""Reads the user's configuration files, as people have them: .properties, Spring, Compose,
Strimzi."""
