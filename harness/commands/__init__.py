"""What each command of `kafka-harness` does: one file a command, and what several of them share.

May import everything of harness, and analysis when a check is asked for. Only the cli imports it.
"""
