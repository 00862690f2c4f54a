"""Real clusters: nodes, their capabilities, and the backends that make them."""
