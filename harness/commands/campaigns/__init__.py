"""The command campaign: its file, what is still to do, the runs, and their lines.

May import what commands import, and commands that carry out and check one run.
"""
