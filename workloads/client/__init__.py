"""What the workers share: clients, payloads, sends and how they end, transactions."""
