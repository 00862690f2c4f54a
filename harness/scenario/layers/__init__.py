"""A scenario, the user's own files and --set: read, and laid over each other."""
