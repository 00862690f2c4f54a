"""The commands of `kafka-harness`: one file a command, with what may be typed and what it does.

Each is a function with its options; what is slow to import is imported when it is called.
"""
