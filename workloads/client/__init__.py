"""What the workers share: clients, payloads, sends and their ends, transactions."""
