"""Configuration files of the user's, as people have them: .properties, Spring, Compose, Strimzi."""
