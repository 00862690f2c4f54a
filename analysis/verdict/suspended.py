"""What damage suspends: anomalies that rest on what is damaged, so that seeing them proves nothing.

A record whose send is in a damaged table looks like one that was never sent, and one that a damaged
final read has looks lost. So an anomaly convicts only if every table that it rests on is whole:

    a table of operations      suspends the anomalies that rest on what its worker records
    any other table or file    suspends all: it tells what was read to its end, which faults there
                               were and who led, on which every permission depends

A table in which a worker's `end` counts otherwise than there are rows is damaged: so are the last
pages of a segment that its host did not keep. Of a producer without an `end`, with which its host
may have gone, nobody knows what it did last: a record that it seems never to have sent is doubtful,
and so is that a transformer made nothing of an input.

A duplicate in a complete final read needs nobody else's tables; where the final read is not
complete, consumers' reads decide with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from analysis.measures.work_done import Work
from analysis.stored.damage import Damage
from analysis.stored.run_files import OPERATIONS
from analysis.stored.stored_run import Run
from analysis.verdict.finished_workers import miscounted
from analysis.verdict.judge import Counted, Gap, Judgement, Level
from harness.model.worker_kinds import FINAL_READ, OUTPUT_READER, kind_named

SEND, DELIVERY, GROUP, FINAL, REPLICA = "send", "delivery", "group", "final-read", "replica"
OUTPUT: Final = "output"
ALL: Final = frozenset({SEND, DELIVERY, GROUP, FINAL, REPLICA, OUTPUT})
# What an anomaly rests on; one that is not listed rests on everything.
RESTS_ON: Final[Mapping[str, frozenset[str]]] = {
    "lost": frozenset({SEND, FINAL}),
    "vanished": frozenset({DELIVERY, GROUP, FINAL, OUTPUT}),
    "unseen": frozenset({SEND, FINAL}),
    "duplicate": frozenset({FINAL}),
    "phantom": frozenset({SEND, DELIVERY, GROUP, FINAL}),
    "inconsistent-offset": frozenset({SEND, DELIVERY, GROUP, FINAL}),
    "reordered": frozenset({SEND, FINAL}),
    "real-time-violation": frozenset({SEND, FINAL}),
    "uncommitted-read": frozenset({SEND, DELIVERY, GROUP, FINAL}),
    "torn": frozenset({SEND, FINAL}),
    "hanging-transaction": frozenset({SEND, FINAL}),
    "stable-back": frozenset({DELIVERY, GROUP, FINAL}),
    "circular-flow": frozenset({GROUP, FINAL}),
    "poll-skip": frozenset({DELIVERY, GROUP, FINAL}),
    "poll-back": frozenset({DELIVERY, GROUP, FINAL}),
    "hole": frozenset({FINAL}),
    "corrupt": frozenset({DELIVERY, GROUP, FINAL}),
    "epoch-back": frozenset({DELIVERY, GROUP, FINAL}),
    "stale-read": frozenset({SEND, DELIVERY, FINAL}),
    "skipped": frozenset({GROUP, FINAL}),
    "reprocessed": frozenset({GROUP}),
    "no-output": frozenset({SEND, GROUP, FINAL, OUTPUT}),
    "two-outputs": frozenset({SEND, GROUP, FINAL, OUTPUT}),
    "strange-output": frozenset({SEND, DELIVERY, FINAL, OUTPUT}),
    "not-passed": frozenset({SEND, FINAL, OUTPUT}),
    "commit-back": frozenset({GROUP}),
    "zombie-commit": frozenset({GROUP}),
    "two-owners": frozenset(),
    "unowned-partition": frozenset(),
    "unacknowledged-lost": frozenset({SEND, FINAL}),
    "diverged": frozenset({REPLICA, FINAL}),
    "watermark-ahead": frozenset(),
    "end-back": frozenset(),
    "watermark-back": frozenset(),
    "metadata-back": frozenset(),
    "early-read": frozenset({DELIVERY, GROUP, FINAL}),
}
_UNLESS_COMPLETE: Final = {"duplicate": frozenset({SEND, DELIVERY, GROUP})}
_OTHERS: Final = {
    FINAL_READ.name: frozenset({FINAL}),
    OUTPUT_READER.name: frozenset({OUTPUT}),
    "replicas": frozenset({REPLICA}),
}

Measured = TypeVar("Measured", Gap, Counted, Level)


def suspends(damage: Sequence[Damage], anomaly: str, *, complete: bool) -> str | None:
    """Why what was seen of an anomaly proves nothing; None where no damage touches it. `complete`:
    whether the final read was, of every partition."""
    needs = RESTS_ON.get(anomaly, ALL)
    if not complete:
        needs |= _UNLESS_COMPLETE.get(anomaly, frozenset())
    for each in damage:
        records = ALL if each.process is None else recorded_by(each.process)
        if records == ALL or records & needs:
            return f"{anomaly}: {each.file} is damaged, so what was seen may be damage too"
    return None


def suspended(
    judgements: Mapping[str, Judgement], damage: Sequence[Damage], *, complete: bool
) -> dict[str, Judgement]:
    """The judgements, with what proves nothing marked so: it neither convicts nor meets or breaks
    a demand."""
    found = dict(judgements)
    for anomaly, judgement in judgements.items():
        why = suspends(damage, anomaly, complete=complete) if judgement.count else None
        if why is not None:
            found[anomaly] = replace(judgement, suspended=why, demand_met=None)
    return found


def short_tables(run: Run, work: Work) -> Iterator[Damage]:
    """The tables in which workers recorded otherwise than they counted at their end."""
    for event in (each for each in run.events if each["event"] == "end"):
        for why in miscounted(event, work):
            process = str(event["process"])
            yield Damage(file=f"{OPERATIONS}/{process}.parquet", why=why, process=process)


def past_the_end(
    judgements: Mapping[str, Judgement], run: Run, never_sent: int
) -> dict[str, Judgement]:
    """The judgements, with phantoms and missing outputs in doubt where a producer may have sent
    what was not kept: it has no `end`, and nobody saw how it ended. A SIGKILL alone takes nothing
    of what it recorded."""
    found = dict(judgements)
    exits = {worker["process"]: worker.get("exit") for worker in run.record.get("workers") or []}
    ended = run.record.get("state") == "complete"
    for finding in run.findings:
        process = str(finding["process"])
        seen = ended and exits.get(process) is not None
        if finding["kind"] != "no-end" or SEND not in recorded_by(process) or seen:
            continue
        shown = {"phantom": never_sent > 0, "no-output": GROUP in recorded_by(process)}
        for name in (each for each, so in shown.items() if so and each in found):
            if not found[name].count:
                continue
            why = f"{name}: nobody saw how {process} ended, so what it sent last may not be kept"
            found[name] = replace(found[name], suspended=why, demand_met=None)
    return found


def recorded_by(process: str) -> frozenset[str]:
    """What a worker's operations are; of one of no known kind, anything."""
    kind = kind_named(process)
    if kind is None:
        return _OTHERS.get(process.rpartition("-")[0], ALL)
    does = {SEND: kind.sends, DELIVERY: kind.follows, GROUP: kind.member}
    return frozenset(name for name, so in does.items() if so)


def unproved(measured: Mapping[str, Measured], damage: Sequence[Damage]) -> dict[str, Measured]:
    """Demands on what was measured: with damage they are neither met nor broken."""
    return {name: replace(each, met=None) if damage else each for name, each in measured.items()}
