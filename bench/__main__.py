"""`make bench`: what recording costs the measured client, then what checking costs."""

from __future__ import annotations

import runpy

for part in ("bench.recorder", "bench.checker"):
    print(f"== {part}", flush=True)
    runpy.run_module(part, run_name="__main__")
