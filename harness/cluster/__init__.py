"""Real clusters: nodes, what can be done to them (capabilities), the backends that make them."""
