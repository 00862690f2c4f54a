"""What each command of `kafka-harness` does: one file a command, and what several of them share.

May import all of harness, and analysis when a check is asked for. command_lines and bench import
it.
"""
