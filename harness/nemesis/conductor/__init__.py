"""The conductor: when a step of the plan is due, which nodes it hits, a fault from start to end.

May import harness.nemesis.verbs and what verbs may; never the plan.
"""
