"""Enough load: whether there was anything that faults could have harmed.

A run proves nothing where nothing was sent, nothing acknowledged, or where most of the load failed
for reasons that no fault explains: more than half of all sends refused by the client itself (a
producer that had a fatal error asks Kafka nothing any more), or more than half of them without an
answer while no fault was in force. Half is the border because a majority is what a run is told
by: scenarios that provoke failures provoke them by faults, and failures beside them are retries'
leftovers, a few in a thousand.

Every fault must have met load: sends that left the client, begun or outstanding, not acks. Before
the first fault (else nothing was there to be lost), during each, and after each one's healing
begins (else nobody saw whether the cluster works again). Healing *begins* there, since a workload
of rounds may be over before a node's return is proved. A fault shorter than a second, met within a
second of it, will do: no open loop of a send now and then could do better.

    sends at 0.0 s    kill at 5.0 to 6.0 s                              =>  unknown: it met no load
    sends at 0.0 s, and one outstanding from 4.9 to 5.1 s, one at 6.1 s =>  enough

Excused: a fault that hits those who send (it stops its own load), a first fault planned for the
load's first moment, and a fault while the harness held a producer back on purpose.

Pure functions of the run and what `analysis.measures.work_done` counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.measures.work_done import Work
from analysis.stored.stored_run import Run
from analysis.verdict.naming import called, kind_of
from harness.model.client_settings import acks_of
from harness.model.worker_kinds import KINDS

Fault = Mapping[str, Any]


def load_doubts(run: Run, counts: Mapping[str, int], work: Work) -> Iterator[str]:
    """Why the load was not enough."""
    if not counts["sends"]:
        yield "nothing was sent"
        return
    unacknowledged = acks_of(run.scenario["workload"]["producer"]) == "0"
    if unacknowledged and not counts["indeterminate_landed"]:
        # No ack can come; what the final read found is the proof that sends arrived at all.
        yield "no send arrived"
    elif not unacknowledged and not counts["acked"]:
        yield "no send was acknowledged"
    else:
        yield from _failed_for_no_reason(counts["sends"], work)
    yield from _faults_without_load(run, work)


def _failed_for_no_reason(sends: int, work: Work) -> Iterator[str]:
    refused, unanswered = work.total("refused"), work.total("unexplained")
    if 2 * refused > sends:
        yield f"{refused:,} of {sends:,} sends were refused by the client and never left it"
    elif 2 * unanswered > sends:
        yield (
            f"{unanswered:,} of {sends:,} sends were not acknowledged though no fault was in force"
        )


# Whether faults met load


def _faults_without_load(run: Run, work: Work) -> Iterator[str]:
    hit = sorted((f for f in run.faults if f["nodes"]), key=lambda fault: int(fault["invoke_ns"]))
    if not hit:
        return
    first, loaded_from_ns = hit[0], work.loaded_from_ns
    late = loaded_from_ns is None or loaded_from_ns >= first["invoke_ns"]
    if late and not _begins_with_the_load(run, first):
        yield f"no send was begun before the first fault, {called(first)}"
    met = [fault for fault in hit if not _stops_the_load(fault)]
    for fault in met:
        if fault["fault"] not in work.met and not _held_meanwhile(run, fault):
            yield f"{called(fault)} met no load: no send was begun or outstanding meanwhile"
    until_ns = work.loaded_until_ns or 0
    unmet = [f for f in met if f["heal_invoke_ns"] and until_ns <= f["heal_invoke_ns"]]
    if unmet:
        last = max(unmet, key=lambda fault: int(fault["heal_invoke_ns"]))
        yield (
            f"no send was begun or outstanding after the healing of {called(last)} began, "
            f"at {run.seconds(last['heal_invoke_ns']):.1f} s"
        )


def _begins_with_the_load(run: Run, fault: Fault) -> bool:
    """Whether its step is planned for the load's first moment: nothing can be sent before."""
    step = next((step for step in run.plan if step["step"] == fault["step"]), None)
    return step is not None and step.get("at") == 0 and not step.get("when")


def _stops_the_load(fault: Fault) -> bool:
    """Whether it hit workers that send."""
    kinds = (kind_of(name) for name in fault["nodes"])
    return any(kind is not None and KINDS[kind].sends for kind in kinds)


def _held_meanwhile(run: Run, fault: Fault) -> bool:
    """Whether the harness held a producer back while the fault was in force."""
    end_ns = fault["heal_ok_ns"] or run.load_end_ns
    for held in run.events:
        if held["event"] == "held" and held["time_ns"] <= end_ns:
            released = (
                row["time_ns"]
                for row in run.events
                if row["event"] == "released"
                and row["process"] == held["process"]
                and row["time_ns"] >= held["time_ns"]
            )
            if min(released, default=run.load_end_ns) >= fault["invoke_ns"]:
                return True
    return False
