"""The commands of `kafka-harness`: one file a command, with what may be typed and what it does.

Each is a function with its options; it imports slow modules when it is called.
"""
