"""Inputs, their log, and outputs that fit them now and then."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

VALUES = range(1, 5)
MAYBE = st.sampled_from([None, *VALUES, *VALUES, 9])


@st.composite
def answered(draw: st.DrawFn) -> dict[str, Any]:
    """A case as tests/support/oracles/programs.py takes it."""
    sent = {v: draw(st.sampled_from(["ok", "ok", "ok", "info", "fail"])) for v in VALUES}
    log = {at: value for at, value in enumerate(VALUES) if draw(st.integers(0, 4))}
    if draw(st.booleans()):
        log[len(VALUES)] = draw(st.sampled_from(VALUES))  # a copy
    seen = {at: value for at, value in log.items() if draw(st.booleans())}
    if not draw(st.integers(0, 3)):
        seen[len(VALUES) + 1] = draw(st.sampled_from(VALUES))  # one that the log lost
    final = [value for value in VALUES if draw(st.integers(0, 5))]
    live = [value for value in VALUES if draw(st.integers(0, 2))]
    return {
        "sent": {v: ended for v, ended in sent.items() if draw(st.integers(0, 6))},
        "log": log,
        "seen": seen,
        "final": final + draw(st.lists(MAYBE, max_size=2)),
        "live": live,
        "passed": draw(st.sampled_from([None, 0, 2, 5, 5])),
        "least": draw(st.sampled_from([0, 1, 1, 1])),
        "most": draw(st.sampled_from([None, 1, 1, 2])),
        "whole": draw(st.integers(0, 4)) > 0,
        "read": draw(st.integers(0, 4)) > 0,
    }
