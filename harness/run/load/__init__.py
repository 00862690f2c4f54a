"""The load: the worker processes of a run, started, counted, hit, replaced and ended.

May import nemesis, what lies below it, and the run that it is a part of (run_context, progress).
"""
