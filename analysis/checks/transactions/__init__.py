"""What transactions promise: all of one or nothing, and none that rests on what is not decided.

Each file is a family of anomalies.
"""
