"""The load: the worker processes of a run, started, counted, hit, replaced and ended."""
