"""Demands that a scenario makes of its own clients, where others are brought.

A scenario's `lost = ">= 1"` says what its own configuration does. Once a file replaces a key of it,
that something must happen is shown, and not judged; upper limits stay:

    lost = ">= 1"                 shown
    duplicate = "3"               shown
    produce-gap-s = "8 to 12"     "<= 12" is judged, ">= 8" is shown
    lost = "0"                    judged
    isr-leave-s = "<= 5"          shown: each such demand wants a follower to leave

How demands are written: analysis.verdict.demands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# Any demand on these wants one to have happened.
_WANTS_ONE = ("isr-leave-s", "isr-return-s")
_RANGE = re.compile(r"\s*(\S+) to (\S+?)(\s*%)?\s*")


def parted(expect: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The demands that stay, and those that are shown alone."""
    stay, shown = dict[str, str](), dict[str, str]()
    for name, demand in expect.items():
        upper, lower = (None, demand) if name in _WANTS_ONE else _ends(str(demand))
        if upper is not None:
            stay[name] = upper
        if lower is not None:
            shown[name] = lower
    return stay, shown


def _ends(demand: str) -> tuple[str | None, str | None]:
    """The upper limit of a demand, and that something must happen."""
    if found := _RANGE.fullmatch(demand):
        unit = found[3] or ""
        return f"<= {found[2]}{unit}", f">= {found[1]}{unit}"
    plain = demand.strip().lstrip("= ") if not demand.strip().startswith((">", "<")) else ""
    if demand.strip().startswith("<") or plain == "0":
        return demand, None
    return None, demand
