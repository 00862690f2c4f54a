"""How replication went, by samples of the replicas (`check.watermarks`): report.json's
`replication`.

**lag**: how late each follower of the ISR learned the high watermark. In offsets, at each look: the
leader's less the follower's. In ms, for each new watermark: from the look that first saw it on the
leader until the first that saw it, or a higher one, on the follower; only if neither changed its
role. Precise to one look and one checkpoint (harness.run.watermark_sampler).

**isr**: for each fault, each follower that it hit and that left an ISR: when it had last caught up
(the last look at which the leader's log end was not above what it knew the follower to have: the
lesser of the follower's log end and the watermark), when it left, when its log end had reached the
leader's watermark again, and when it was back. Records on a follower's disk count from its next
fetch on, which announces them. If it still fetches, its log may have grown since the leader
decided, and the time from catching up to leaving is short by a fetch.

**elections**, and how many acknowledged records past the log end of a new leader are lost, and how
many were found all the same: see analysis.frames.elections.

Pure functions over looks, views and faults; a look every 50 ms is little.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypedDict

from analysis.causes.run_facts.configuration import lag_max_ms
from analysis.frames.elections import Election, elections
from analysis.stored.replica_samples import Look, looks_of
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Fault, View
from harness.model.runs.report_course import Absence as AbsenceTold
from harness.model.runs.report_course import ElectionTold, FollowerLag, LagQuantiles, Replication

CHECKPOINT_MS = 5_000  # Kafka's default of replica.high.watermark.checkpoint.interval.ms


def replication(run: Run, counts: Mapping[str, int], lost: int) -> Replication | None:
    """What was measured; None for a run whose replicas were not sampled.

    `counts` has how many records past a log end are lost and kept, `lost` is how many are in all.
    """
    if not run.watched:
        return None
    looks = looks_of(run.watermarks)
    steps = [b.time_ns - a.time_ns for each in looks.values() for a, b in pairwise(each)]
    server = run.node_settings["server"]
    limit_s = lag_max_ms(server) / 1000
    written_ms = server.get("replica.high.watermark.checkpoint.interval.ms", CHECKPOINT_MS)
    return Replication(
        looks=sum(map(len, looks.values())),
        every_ms=round(statistics.median(steps) / 1e6, 1) if steps else None,
        checkpoint_ms=float(written_ms),
        lag=[row for partition, each in looks.items() for row in lag(partition, each)],
        isr_limit_s=limit_s,
        isr=[
            _as_row(absence, run, limit_s)
            for fault in run.faults
            for partition, each in looks.items()
            for absence in absences(fault, partition, each, run.views)
        ],
        elections=[_elected(election, run) for election in elections(looks)],
        lost_past_log_end=counts["lost_past_log_end"],
        kept_past_log_end=counts["kept_past_log_end"],
        lost_within_log_end=lost - counts["lost_past_log_end"],
    )


class BehindRow(TypedDict):
    """How far replicas were behind at one look; None where it is not known."""

    time_s: float
    brokers: dict[str, int | None]  # records that each lacks of its leader's log
    unread: int | None  # the leader's records above its watermark


def behind(run: Run) -> list[BehindRow]:
    """For the picture, one row per look; of several partitions the most."""
    rows: dict[int, BehindRow] = {}
    for look in (look for each in looks_of(run.watermarks).values() for look in each):
        end = look.ends.get(look.leader or "")
        lacks = {name: _less(end, own) for name, own in look.ends.items() if name != look.leader}
        row = rows.setdefault(
            look.time_ns, {"time_s": run.seconds(look.time_ns), "brokers": {}, "unread": None}
        )
        for name, lack in lacks.items():
            row["brokers"][name] = _most(row["brokers"].get(name), lack)
        row["unread"] = _most(row["unread"], _less(end, look.marks.get(look.leader or "")))
    return [rows[time_ns] for time_ns in sorted(rows)]


def _less(end: int | None, other: int | None) -> int | None:
    return None if end is None or other is None else max(0, end - other)


def _most(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


# What elected leaders did not have


def _elected(election: Election, run: Run) -> ElectionTold:
    return ElectionTold(
        partition=election.partition,
        broker=election.broker,
        before=election.before,
        elected_s=run.seconds(election.elected_ns),
        log_end=election.log_end,
        end_before=election.end_before,
    )


# How late followers learn the watermark


def lag(partition: int, looks: Sequence[Look]) -> list[FollowerLag]:
    """A row for each broker that followed in the ISR of a partition."""
    rows = []
    for broker in sorted({name for look in looks for name in look.marks}):
        behind = [b for look in looks if (b := _behind(look, broker)) is not None]
        late_ms = list(_late_ms(looks, broker))
        if behind:
            offsets, late = _three(behind), _three(late_ms)
            rows.append(FollowerLag(partition=partition, broker=broker, offsets=offsets, ms=late))
    return rows


def _behind(look: Look, broker: str) -> int | None:
    """How far the follower's watermark is behind; a follower's checkpoint may be the newer one."""
    if look.leader in (None, broker) or broker not in (look.isr or ()):
        return None
    first, second = look.marks.get(str(look.leader)), look.marks.get(broker)
    return None if first is None or second is None else max(0, first - second)


def _late_ms(looks: Sequence[Look], broker: str) -> Iterator[float]:
    learned = 0
    newest = -1
    for number, look in enumerate(looks):
        if _behind(look, broker) is None:
            newest = -1
            continue
        mark = look.marks[str(look.leader)] or 0
        if newest < 0 or mark <= newest:  # the first that is seen is not news
            newest = max(newest, mark)
            continue
        newest = mark
        learned = max(learned, number)
        while learned < len(looks) and _waits(looks[learned], look, broker, mark):
            learned += 1
        if (
            learned < len(looks)
            and looks[learned].leader == look.leader
            and (_behind(looks[learned], broker) is not None)
        ):
            yield (looks[learned].time_ns - look.time_ns) / 1e6


def _waits(later: Look, look: Look, broker: str, mark: int) -> bool:
    """Whether the follower, still one of the same leader, has not learned the watermark yet."""
    follows = later.leader == look.leader and _behind(later, broker) is not None
    return follows and (later.marks[broker] or 0) < mark


# When followers leave the ISR and are back


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """A follower's time out of an ISR, because of a fault; None: not seen."""

    fault: Fault
    partition: int
    broker: str
    caught_up_ns: int | None
    left_ns: int
    reached_ns: int | None
    returned_ns: int | None


def absences(
    fault: Fault, partition: int, looks: Sequence[Look], views: Iterable[View]
) -> Iterator[Absence]:
    """The absences of the fault's followers: each left between injection and healed."""
    mine = sorted((v for v in views if v["partition"] == partition), key=lambda v: v["time_ns"])
    end_ns = fault["heal_ok_ns"] or float("inf")
    for broker in fault["nodes"]:
        for before, view in pairwise(mine):
            leaves = broker in before["isr"] and broker not in view["isr"]
            if not leaves or broker == before["leader"] or before["leader"] != view["leader"]:
                continue
            if fault["invoke_ns"] <= view["time_ns"] < end_ns:
                yield _absence(fault, partition, broker, view["time_ns"], looks, mine)


def _absence(  # noqa: PLR0913, PLR0917  what an absence is made of
    fault: Fault,
    partition: int,
    broker: str,
    left_ns: int,
    looks: Sequence[Look],
    views: Sequence[View],
) -> Absence:
    before = [look for look in looks if look.time_ns <= left_ns]
    got_to = _known_to_have(before, broker)
    level = [look.time_ns for look in before if got_to is not None and _not_above(look, got_to)]
    back_ns = next(
        (v["time_ns"] for v in views if v["time_ns"] > left_ns and broker in v["isr"]), None
    )
    return Absence(
        fault=fault,
        partition=partition,
        broker=broker,
        caught_up_ns=max(level, default=None),
        left_ns=left_ns,
        reached_ns=_reached(looks, broker, left_ns, back_ns),
        returned_ns=back_ns,
    )


def _known_to_have(looks: Sequence[Look], broker: str) -> int | None:
    """How far the leader knew the follower to be when it was last in the ISR: not past its log end,
    nor past the watermark, which waits for what followers say of themselves when they fetch."""
    within = [look for look in looks if look.isr and broker in look.isr]
    if not within:
        return None
    last = within[-1]
    end, mark = last.ends.get(broker), last.marks.get(last.leader or "")
    return min(end, mark) if end is not None and mark is not None else end


def _reached(looks: Sequence[Look], broker: str, left_ns: int, back_ns: int | None) -> int | None:
    """The look after the last one at which the broker, out of the ISR, lacked anything."""
    out = [x for x in looks if x.time_ns >= left_ns and (back_ns is None or x.time_ns <= back_ns)]
    lacked = max((n for n, look in enumerate(out) if not _has(look, broker)), default=-1)
    return out[lacked + 1].time_ns if lacked + 1 < len(out) else back_ns


def _not_above(look: Look, offset: int) -> bool:
    end = look.ends.get(look.leader or "")
    return end is not None and end <= offset


def _has(look: Look, broker: str) -> bool:
    """Whether the broker has all up to the leader's watermark."""
    mark, end = look.marks.get(look.leader or ""), look.ends.get(broker)
    return mark is not None and end is not None and end >= mark


def _as_row(absence: Absence, run: Run, limit_s: float) -> AbsenceTold:
    fault, left_ns, back_ns = absence.fault, absence.left_ns, absence.returned_ns
    after_s = _between(absence.caught_up_ns, left_ns)
    return AbsenceTold(
        fault=fault["fault"],
        partition=absence.partition,
        broker=absence.broker,
        caught_up_s=run.seconds(absence.caught_up_ns),
        left_s=run.seconds(left_ns),
        leave_after_s=after_s,
        leave_of_limit=None if after_s is None else round(after_s / limit_s, 2),
        reached_s=run.seconds(absence.reached_ns),
        returned_s=run.seconds(back_ns),
        return_after_s=_between(absence.reached_ns, back_ns),
        heal_to_return_s=_between(fault["heal_invoke_ns"], back_ns),
    )


def _between(begin_ns: int | None, end_ns: int | None) -> float | None:
    return None if begin_ns is None or end_ns is None else round((end_ns - begin_ns) / 1e9, 3)


def _three(values: Sequence[float]) -> LagQuantiles | None:
    """Median, 95th percentile (the nearest rank below) and maximum; None without any."""
    if not values:
        return None
    ranked = sorted(values)
    p50, p95, most = (round(ranked[int(q * (len(ranked) - 1))], 1) for q in (0.5, 0.95, 1.0))
    return LagQuantiles(p50=p50, p95=p95, max=most)
