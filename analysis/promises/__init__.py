"""What a promise is, and what decides it: the configuration in force and what faults may have done.

May import frames and harness.model.
"""
