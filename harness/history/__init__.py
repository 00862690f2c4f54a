"""The history of a run: recorded crash-safely, sealed into tables, exported.

`recorder` uses the standard library only: workers import it.
"""
