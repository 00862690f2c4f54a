"""The history of a run: recorded crash-safely, sealed into tables, exported.

May import model. `recorder` is standard library alone: workers import it.
"""
