"""The load: the worker processes of a run, started, counted, hit, replaced and ended.

May import nemesis and what lies below; only harness.run imports it.
"""
