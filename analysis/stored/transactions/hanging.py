"""When the last transaction of a run must have ended, by its workers' events, and the partitions
with one that has not.

committed at 10 s                                                    =>  10 s, and some slack
commit asked for at 10 s, no answer; transaction.timeout.ms = 15000  =>  25 s, and more slack
begun at 10 s, the producer died; the same                           =>  40 s, and more slack
the same, and a broker's clock was an hour ahead, or behind          =>  an hour more

A coordinator counts by its wall clock from when it learns of a transaction's first partition, and
its successor continues by its own. The client may announce that partition as long as it keeps the
first record, which it gives up after transaction.timeout.ms; it asks for a commit when all records
are delivered."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.stored.fact_rows import HangingRow
from analysis.stored.settings import nanoseconds
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Event
from harness.model.effects import Effects

ENDED = ("committed", "aborted")
TIMEOUT_MS = 60_000  # transaction.timeout.ms, of librdkafka
LOOKED_FOR_MS = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms
SLACK_NS = 10 * 10**9  # a coordinator that is elected reads its log first; markers are written late


def ended_by_ns(run: Run) -> int:
    """From when on no transaction of the run's producers can be open."""
    settings = run.node_settings["server"]
    timeout_ns = nanoseconds(
        run.scenario["workload"]["producer"], "transaction.timeout.ms", TIMEOUT_MS
    )
    looked_ns = nanoseconds(
        settings, "transaction.abort.timed.out.transaction.cleanup.interval.ms", LOOKED_FOR_MS
    )
    looked_ns += int(_skew_ns(run))
    healed_ns = max((int(fault["heal_ok_ns"] or 0) for fault in run.faults), default=0)
    last: dict[tuple[str, int], Event] = {}
    for event in sorted(run.events, key=lambda each: int(each["time_ns"])):
        if event["event"] == "transaction":
            last[event["process"], event["transaction"]] = event
    later_ns = {"begun": 2 * timeout_ns + looked_ns, **dict.fromkeys(ENDED, 0)}
    by_ns = [
        int(event["time_ns"]) + later_ns.get(event["name"], timeout_ns + looked_ns)
        for event in last.values()
    ]
    return max([healed_ns, run.load_end_ns, *by_ns]) + SLACK_NS


def _skew_ns(run: Run) -> float:
    """How far apart two brokers' clocks, or one's before and after a jump, may have been."""
    known = [step["effects"] for step in run.plan if step.get("effects")]
    skews = [Effects.model_validate(each).skews_clock_s for each in known]
    return (max([0.0, *skews]) - min([0.0, *skews])) * 1e9


def hanging(run: Run) -> Iterator[HangingRow]:
    """Where the last stable offset stood below the end of a partition when it was read last, though
    no transaction can have been open any more: rows of schema.HANGING."""
    if not run.tells_transactions or any(fault["heal_ok_ns"] is None for fault in run.faults):
        return
    last = {end["partition"]: end for end in sorted(run.ends, key=lambda end: end["time_ns"])}
    ended_ns = ended_by_ns(run)
    for partition, end in sorted(last.items()):
        stable, high = end["committed_end"], end["uncommitted_end"]
        asked_ns = end["time_ns"] if (since_ns := end.get("since_ns")) is None else since_ns
        if stable is not None and high is not None and stable < high and asked_ns > ended_ns:
            yield {"partition": partition, "offset": stable, "time_ns": asked_ns}
