"""What each command of `kafka-harness` does: one file a command, and what several of them share."""
