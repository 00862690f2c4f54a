"""The conductor: when a step of the plan is due, which nodes it hits, a fault from start to end."""
