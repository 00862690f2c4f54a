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

    all producers killed from 5 to 6 s, sends until 4.99 and from 6.1 s  =>  enough
    the same, and no send after 2 s                                      =>  unknown, twice
    one of two producers killed, the other silent from 2 s on            =>  unknown

Excused are a first fault planned for the load's first moment, and a fault while the harness held a
producer back on purpose, from before it or for most of it. A fault that stops those who send (its
effects end or halt processes) need not meet load while all of them are stopped; but one of those
that it hit must have sent within two seconds before it, and where the load ran on for more than a
second after its healing was proved, something must have been sent.

Pure functions of the run and what `analysis.measures.work_done` counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from analysis.causes.run_facts.faults import Happened
from analysis.measures.work_done import SHORT_NS, SHORTLY_NS, Work
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Fault
from analysis.verdict.own_time import free_ns, line_of, taken
from analysis.verdict.proved_faults import called
from harness.model.client_settings import acks_of
from harness.model.worker_kinds import kind_named


def load_doubts(run: Run, counts: Mapping[str, int], work: Work) -> Iterator[str]:
    """Why the load was not enough."""
    if not counts["sends"]:
        yield "the history tells no send" if run.untold else "nothing was sent"
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
    refused, unanswered = work.refused, work.unexplained
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
    happened, met = Happened.of(run.faults, run.plan), work.met
    for fault in hit:
        if _all_are_stopped(run, work, happened, fault):
            # A send that an earlier fault keeps waiting is load, too.
            if fault["fault"] not in met and not _sent_shortly_before(run, work, fault):
                yield f"{called(fault)} met no load: none that it stopped had sent shortly before"
        elif fault["fault"] not in met and not _held_meanwhile(run, fault):
            yield f"{called(fault)} met no load: no send was begun or outstanding meanwhile"
    until_ns = work.loaded_until_ns or 0
    unmet = [
        fault
        for fault in hit
        if fault["heal_invoke_ns"] and until_ns <= fault["heal_invoke_ns"]
        if not (_stops_the_load(happened, fault) and _late(run, fault))
    ]
    if unmet:
        last = max(unmet, key=lambda fault: fault["heal_invoke_ns"] or 0)
        yield (
            f"no send was begun or outstanding after the healing of {called(last)} began, "
            f"at {run.seconds(last['heal_invoke_ns']):.1f} s"
        )


def _begins_with_the_load(run: Run, fault: Fault) -> bool:
    """Whether its step is planned for the load's first moment: nothing can be sent before."""
    step = next((step for step in run.plan if step["step"] == fault["step"]), None)
    return step is not None and step.get("at") == 0 and not step.get("when")


def _senders(names: Iterable[str]) -> set[str]:
    """The lines of those among them that send."""
    kinds = {name: kind_named(name) for name in names}
    return {line_of(name) for name, kind in kinds.items() if kind and kind.sends}


def _stops_the_load(happened: Happened, fault: Fault) -> bool:
    """Whether it stopped workers that send."""
    effects = happened.effects(fault)
    stops = effects is not None and (effects.ends_processes or effects.halts_processes)
    return stops and bool(_senders(fault["nodes"]))


def _all_are_stopped(run: Run, work: Work, happened: Happened, fault: Fault) -> bool:
    """Whether, but for less than a second, it and such faults stopped all that send."""
    if not _stops_the_load(happened, fault):
        return False
    named = {worker["process"] for worker in run.record.get("workers") or []}
    lines = _senders(named | work.processes) | _senders(fault["nodes"])
    stopped = [taken(run, line, lambda other: _stops_the_load(happened, other)) for line in lines]
    end_ns = int(fault["heal_ok_ns"] or run.load_end_ns)
    return free_ns(int(fault["invoke_ns"]), end_ns, *stopped) < SHORT_NS


def _sent_shortly_before(run: Run, work: Work, fault: Fault) -> bool:
    """Whether one of those that it stopped had; one that is slow or was held back need not have."""
    rate = float(run.scenario["workload"].get("rate") or 0)
    if 0 < rate < 2e9 / SHORTLY_NS or _held_meanwhile(run, fault):
        return True
    lines = _senders(fault["nodes"])
    hit = [name for name in work.processes if line_of(name) in lines]
    return work.shortly_before(fault["fault"], hit) or _begins_with_the_load(run, fault)


def _late(run: Run, fault: Fault) -> bool:
    """Whether the load did not run on for long once the fault was healed."""
    healed_ns = fault["heal_ok_ns"]
    return healed_ns is None or run.load_end_ns - healed_ns <= SHORT_NS


def _held_meanwhile(run: Run, fault: Fault) -> bool:
    """Whether the harness held a producer back when the fault came, or for most of it."""
    begin_ns, end_ns = int(fault["invoke_ns"]), int(fault["heal_ok_ns"] or run.load_end_ns)
    for held in (event for event in run.events if event["event"] == "held"):
        released = (
            row["time_ns"]
            for row in run.events
            if row["event"] == "released"
            and row["process"] == held["process"]
            and row["time_ns"] >= held["time_ns"]
        )
        until_ns = min(released, default=run.load_end_ns)
        both_ns = min(until_ns, end_ns) - max(held["time_ns"], begin_ns)
        if held["time_ns"] <= begin_ns <= until_ns or 2 * both_ns > end_ns - begin_ns:
            return True
    return False
