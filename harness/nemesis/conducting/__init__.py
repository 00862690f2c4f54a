"""What conducting a plan is made of: when a step is due, whom it hits, and one fault from injection
to healing.

May import harness.nemesis.verbs and what verbs may; never the conductor.
"""
