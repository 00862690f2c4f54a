"""Other people's histories: read as lines or as EDN, made a run's folder, and told as lines."""
