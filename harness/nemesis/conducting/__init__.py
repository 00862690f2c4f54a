"""The parts of conducting a plan: when a step is due, which nodes it hits, and one fault from
injection to healing.

May import harness.nemesis.verbs and what verbs may; never the conductor.
"""
