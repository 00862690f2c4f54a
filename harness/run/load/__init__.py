"""The load: the worker processes of a run, started, counted, hit, succeeded and ended.

May import nemesis and what lies below; only harness.run imports it.
"""
