"""What programs of the user's made of the inputs: what was asked for, and how far it was read."""

from __future__ import annotations

from analysis.stored.fact_rows import OutputsRow
from analysis.stored.stored_run import Run
from harness.model.sections.programs import each_of


def outputs_of(run: Run) -> OutputsRow | None:
    """A row of schema.OUTPUTS; None: the scenario names no outputs.

    The read of them is complete if each partition's was: from its very start, since outputs that
    were deleted are none, and by a worker whose table is whole.
    """
    asked = run.scenario.get("outputs")
    if not asked:
        return None
    least, most = each_of(str(asked["each"]))
    unsound = run.unsound
    partitions = int(asked["partitions"]) if asked["topic"] else 1
    whole = {
        end["partition"]
        for end in run.events
        if end["event"] == "output-ends" and end["complete"] and end["process"] not in unsound
        if not end["log_start"]
    }
    passed: list[int | None] = [None] * run.partitions
    for event in run.events:
        if event["event"] == "passed" and event["partition"] < len(passed):
            passed[event["partition"]] = event["position"]
    return {
        "least": least,
        "most": most,
        "complete": whole >= set(range(partitions)),
        "passed": passed,
        "followed": bool(asked["topic"]),
        "lives": [
            {
                "process": str(each["process"]),
                "from_ns": each["started_ns"],
                "to_ns": each["ended_ns"],
            }
            for each in run.record.get("programs") or []
        ],
    }


def unordered_ends(run: Run) -> int:
    """How often a program ended though nothing had ended it."""
    return sum(bool(program.get("unordered")) for program in run.record.get("programs") or [])
