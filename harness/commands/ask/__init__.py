"""Commands that let stored runs be asked.

May import what commands may, and commands.
"""
