"""Proved faults: whether what was planned happened, was proved, and was healed, each by its row.

    planned kill leader    no row, or nobody hit                    =>  it did not happen
    a row                  `ok` without evidence, or the reverse    =>  not proved to take effect
    a row, not in the plan, that nobody healed                      =>  not proved to be healed
    a row                  healed without evidence                  =>  not proved to be healed
    planned kill leader    the row is pause leader                  =>  another fault than planned
    target leader          hit kafka2, `before` says kafka1 led     =>  another node than meant

A fault in the table is judged whether it was planned or not: it hit the cluster all the same. Whom
a target can have meant is told by the view that stands in the row as `before`, the one that it was
chosen by (harness.model.target_roles); where that does not tell, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.causes.run_facts.faults import view_before
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Fault
from harness.model.target_roles import Moment, could_mean

Row = Mapping[str, Any]


def called(fault: Mapping[str, Any]) -> str:
    """`fault 0 (pause leader)`: of a planned step or a row of the faults."""
    return f"fault {fault['step']} ({fault['verb']} {fault['target']})"


def fault_doubts(run: Run) -> Iterator[str]:
    """Why it is not known that what was planned, and nothing else, was in force."""
    happened = {fault["step"] for fault in run.faults}
    for step in run.plan:
        if step["step"] not in happened:
            yield f"{called(step)} was planned and did not happen"
        for fault in run.faults:
            if fault["step"] == step["step"]:
                yield from _planned(run, step, fault)
    planned = {step["step"] for step in run.plan}
    for fault in run.faults:
        if fault["step"] not in planned and fault["nodes"]:
            yield from _unproved(fault)


def _planned(run: Run, step: Row, fault: Fault) -> Iterator[str]:
    if (fault["verb"], fault["target"]) != (step["verb"], step["target"]):
        yield f"{called(step)} was planned, but {fault['verb']} {fault['target']} was injected"
    if not fault["nodes"]:
        yield f"{called(step)} was planned and did not happen{_why(fault)}"
        return
    yield from _unproved(fault)
    moment = _moment(run, fault)
    if could_mean(fault["target"], moment, fault["nodes"]) is False:
        yield (
            f"{called(fault)} hit {', '.join(fault['nodes'])}, which {_was(moment)} cannot have "
            "been its target"
        )


def _unproved(fault: Fault) -> Iterator[str]:
    if fault["ok_ns"] is None or not fault["evidence"]:
        yield f"{called(fault)} has no evidence that it took effect{_why(fault)}"
    elif fault["heal_ok_ns"] is None or not fault["heal_evidence"]:
        yield f"{called(fault)} has no evidence that it was healed{_why(fault)}"


def _why(fault: Fault) -> str:
    return f": {fault['error']}" if fault["error"] else ""


def _moment(run: Run, fault: Fault) -> Moment:
    """Who was who when the fault began, as far as its row tells."""
    before = view_before(fault)
    isr = (before.get("isr") or {}).get("0")
    return Moment(
        leader=(before.get("leader") or {}).get("0"),
        isr=None if isr is None else tuple(isr),
        controller=before.get("controller"),
        nodes={name: str(node.get("role")) for name, node in run.nodes.items()},
        racks={name: str(node["rack"]) for name, node in run.nodes.items() if node.get("rack")},
    )


def _was(moment: Moment) -> str:
    """`(leader kafka1, controller kafka3)`, where it is known."""
    known = {"leader": moment.leader, "controller": moment.controller}
    words = [f"{role} {name}" for role, name in known.items() if name]
    return f"by the view of then ({', '.join(words)})" if words else "by its name"
