"""The views in a fault's own lines: the leaders and ISRs that the nemesis saw.

They are independent looks, so they show whether the table of views is whole: it must have the
leader that a fault saw near that time, or a blind stretch.

    views: kafka1 leads                 fault 5.0 to 8.0 s, after it: kafka2 leads    =>  damage
    views: kafka1, from 5.9 s kafka2    the same                                      =>  whole
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.stored.table_rows import Blind, Fault, View
from harness.model.runs import json_text

Row = Mapping[str, Any]

# The views look every 50 ms; on a host that starves later, and so do faults.
NEAR_NS = 10 * 10**9


def view_in(fault: Row, name: str) -> dict[str, Any]:
    """The view `before` or `after` of a fault's row: `leader` (names), `isr` and, where somebody
    told it, `elr` (lists of names) by partition, `controller` (a name), `known`; without what is
    nothing of this kind."""
    try:
        view = json_text.loads(fault.get(name) or "{}")
    except ValueError:
        return {}
    if not isinstance(view, dict):
        return {}
    leader, isr, elr = (_table(view.get(part)) for part in ("leader", "isr", "elr"))
    controller = view.get("controller")
    return {
        "leader": {number: name for number, name in leader.items() if isinstance(name, str)},
        "isr": {number: names for number, names in isr.items() if _are_names(names)},
        "elr": {number: names for number, names in elr.items() if _are_names(names)},
        "controller": controller if isinstance(controller, str) else None,
        "known": view.get("known"),
    }


def unseen(faults: Sequence[Fault], views: Sequence[View], blind: Sequence[Blind]) -> str | None:
    """Which leader a fault saw that the views lack, as the end of a sentence; None: they lack
    none."""
    of_partition: dict[str, list[View]] = {}
    for row in sorted(views, key=lambda row: row["time_ns"]):
        of_partition.setdefault(str(row["partition"]), []).append(row)
    for fault in faults:
        from_ns, to_ns = _near(fault)
        if any(from_ns < (row["end_ns"] or to_ns) and row["start_ns"] < to_ns for row in blind):
            continue
        for view in (view_in(fault, "before"), view_in(fault, "after")):
            for number, leader in (view.get("leader") or {}).items():
                mine = of_partition.get(number, ())
                if view["known"] is True and leader not in _led(mine, from_ns, to_ns):
                    return (
                        f"fault {fault['fault']} ({fault['verb']} {fault['target']}) saw {leader} "
                        f"lead partition {number}, and no view of that time does"
                    )
    return None


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _are_names(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _near(fault: Fault) -> tuple[int, int]:
    """From when to when a fault may have looked; of one that was never healed, to the end."""
    healed_ns = fault["heal_ok_ns"]
    return fault["invoke_ns"] - NEAR_NS, 2**62 if healed_ns is None else healed_ns + NEAR_NS


def _led(views: Sequence[View], from_ns: int, to_ns: int) -> set[str | None]:
    """Who led at some moment of a time, of one partition's views in order."""
    earlier = [view for view in views if view["time_ns"] < from_ns]
    within = [view for view in views if from_ns <= view["time_ns"] <= to_ns]
    return {view["leader"] for view in (*earlier[-1:], *within)}
