"""What kafka-python's classes of messages are made of, for those that it does not have."""
