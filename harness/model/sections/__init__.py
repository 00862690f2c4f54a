"""The sections of a scenario, a file each or two: keys with their types, defaults and descriptions.

docs/scenario.md and the schema for editors are made of these fields.
"""
