"""Real clusters: nodes, what can be done to them (capabilities), and the backends that make them.

May import clients, distribution, history, host, model and release; nothing of nemesis or above.
"""
