"""The nemesis: the plan, who is hit, the verbs, and the conductor that injects, proves and heals.

May import cluster and what lies below.
"""
