"""A second opinion on outputs of programs: each value by itself, and no join.

A case (tests/support/random_histories/programs.py) has `sent` (value -> how it ended), the `log` of
the final read (offset -> value) and what consumers had `seen` (the same), `live` and `final`
outputs (ids; None: none), `passed` (an offset or None), `least` and `most` outputs an input, and
whether both reads were complete (`whole`, `read`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Case = dict[str, Any]


def outputs(case: Case) -> Iterator[tuple[str, int | None]]:
    """What is wrong: an anomaly, and the value (None: an output without any)."""
    final, log = case["final"], case["log"]
    yield from (("strange-output", None) for each in final if each is None)
    for value in sorted({*case["sent"], *filter(None, [*final, *case["live"]])}):
        ended, there = case["sent"].get(value), [at for at, v in log.items() if v == value]
        had = {*there, *(at for at, v in case["seen"].items() if v == value)}
        many = final.count(value)
        unheard = ended in (None, "fail") and not had
        if many and unheard:
            yield "strange-output", value
        if not many and value in case["live"] and case["read"]:
            yield "vanished", value
        if ended and case["whole"] and case["most"] and many > case["most"] * max(1, len(had)):
            yield "two-outputs", value
        answered_once = value in case["live"] and not many
        if ended == "ok" and there and case["read"] and many < case["least"] and not answered_once:
            went_past = case["passed"] is not None and case["passed"] > min(there)
            yield ("no-output" if went_past else "not-passed"), value
