"""The faults, one file a verb or a family of verbs, in rooms by what they hit.

May import harness.nemesis.verb, targets and cluster; never the registry, the plan or the conductor.
"""
