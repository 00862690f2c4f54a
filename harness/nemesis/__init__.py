"""The nemesis: plan, targets, verbs, and the conductor that injects, proves and heals."""
