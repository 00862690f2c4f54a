"""Commands about this machine: what is made or removed on it."""
