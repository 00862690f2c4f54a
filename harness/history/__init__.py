"""The history of a run: recorded crash-safely, sealed into tables, exported.

`recorder` is standard library alone: workers import it.
"""
