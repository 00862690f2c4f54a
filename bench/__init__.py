"""Commands that measure, started by `python -m`; none is part of the tests. May import all."""
