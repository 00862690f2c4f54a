"""Chaos: operations that may contradict one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from tests.support.oracles.operations import LOAD_MS, PARTITIONS, Case, Row

LENGTHS = st.sampled_from([0, 10, 250, 499, 500, 501, 900])
TIMES = st.integers(0, LOAD_MS // 50 - 20).map(lambda n: 50 * n)  # many at the same time
GROUP = {"process": ["ok", "ok", "info", "fail"], "commit": [*["ok"] * 6, "info", "fail"]}
PLACES = st.tuples(st.integers(0, PARTITIONS - 1), st.integers(0, 4))
NOTES = st.fixed_dictionaries(
    {
        "process": st.sampled_from(["one", "other"]),
        "transaction": st.integers(0, 1),
        "name": st.sampled_from(["begun", "commit-asked", "commit-asked", "aborted"]),
        "time": TIMES,
    }
)
MOVES = st.fixed_dictionaries(
    {
        "process": st.sampled_from(["one", "other"]),
        "partition": st.sampled_from([None, *range(PARTITIONS)]),
        "time": TIMES,
        "late": st.sampled_from([0, 0, 500]),
        "position": st.sampled_from([None, 0, 0, 2]),
    }
)
LUCKY = {"send": ["ok", "ok", "fail", "info"], "lookup": ["ok", "fail"], **GROUP}
UNLUCKY = {"send": ["ok", "info", "info", "info", "info", "info"], "lookup": ["fail"], **GROUP}
ALONE = ("send", "send", "read", "lookup", "final-read", "final-read")
COMPARED = ("send", "read", "final-read", "final-read", *["replica"] * 5)
ERRORS = {"info": ["_NO_ACK", "_MSG_TIMED_OUT"], "fail": ["_ABORTED", "_QUEUE_FULL"]}
FOLLOWED = ("send", "read", "read", "read", "poll", "final-read", "final-read")
TRANSACTED = (*["send"] * 4, "read", "final-read", "final-read")
CLIENTS: Sequence[Sequence[int | None]] = ([None], [0], [0, 1, None])
COMMITTING = ("poll", *["commit"] * 6, *["committed"] * 3)
GENERATIONS = st.sampled_from([0, 0, 1, 1, 2, None])
TOLD = st.fixed_dictionaries(
    {
        "process": st.sampled_from(["one", "other"]),
        "event": st.sampled_from(["member", "assigned"]),
        "time": TIMES,
        "generation": GENERATIONS,
    }
)
GROUPED = (*ALONE, "poll", "process", "process", "commit", "committed")
SIZES = {ALONE: 25, GROUPED: 40, COMPARED: 40, FOLLOWED: 40, COMMITTING: 15, TRANSACTED: 40}


@st.composite
def any_row(
    draw: st.DrawFn,
    kinds: Sequence[str],
    ends: Mapping[str, list[str]],
    clients: Sequence[int | None],
) -> Row:
    """An operation that may contradict every other, though most values are at their own offset
    where there is more to read than to send."""
    f = draw(st.sampled_from(kinds))
    kind = draw(st.sampled_from(ends.get(f, ["ok"])))
    start = draw(TIMES)
    open_ = kind == "info" and draw(st.booleans())
    placed = kind == "ok" and (f != "send" or draw(st.integers(0, 9)) > 0)
    placed |= f == "commit" and not open_
    unparsable = f in ("read", "poll", "final-read") and draw(st.integers(0, 19)) == 0
    unparsable |= f in ("commit", "committed")
    offset = draw(st.integers(0, 4)) if placed else None
    value = st.integers(0, 3 if kinds is TRANSACTED else 7)
    settled = kinds is FOLLOWED and offset is not None and draw(st.integers(0, 4)) > 0
    settled |= kinds is TRANSACTED and f == "final-read"  # or final reads would hardly ever agree
    return {
        "f": f,
        "type": kind,
        "partition": draw(st.integers(0, PARTITIONS - 1)),
        "value": None if unparsable else offset if settled else draw(value),
        "offset": offset,
        "error": draw(st.sampled_from(ERRORS[kind])) if kind in ERRORS else None,
        "process": draw(st.sampled_from(["one", "other"])),
        "broker": draw(st.integers(1, 3)) if f == "replica" else None,
        "instance": draw(st.sampled_from(clients)),
        "epoch": draw(st.sampled_from([None, 0, 1])),
        "transaction": draw(st.sampled_from([0, 0, 1])) if kinds is TRANSACTED else None,
        "generation": draw(GENERATIONS) if f == "commit" else None,
        "start": start,
        "end": None if open_ else start + draw(LENGTHS),
    }


@st.composite
def chaos(draw: st.DrawFn) -> Case:
    """Any operations at all."""
    ends = [
        {
            "complete": draw(st.booleans()),
            "log_start": draw(st.sampled_from([None, 0, 0, 2])),
            "position": draw(st.sampled_from([None, 0, 2, 4])),
        }
        for _ in range(PARTITIONS)
    ]
    kinds, size = draw(st.sampled_from([*SIZES.items()]))
    ended, clients = draw(st.sampled_from([LUCKY, UNLUCKY])), draw(st.sampled_from(CLIENTS))
    row = any_row(kinds, ended, clients)
    rows = draw(st.lists(row, min_size=20 if kinds is TRANSACTED else 0, max_size=size))
    for number, each in enumerate(rows):
        if each["f"] in ("commit", "committed") and each["end"] is not None:
            each["end"] = each["start"] + number  # no two at once: the last one counts
    return Case(
        rows=once_dumped(rows),
        ends=ends,
        tailing=draw(st.booleans()),
        grouped=draw(st.booleans()),
        one_copy=draw(st.booleans()),
        transactional=draw(st.integers(0, 4)) == 0,
        transforms=draw(st.booleans()),
        dirty=draw(st.booleans()),
        dumps=draw(dumped()),
        moves=draw(st.lists(MOVES, max_size=3)),
        events=draw(st.lists(TOLD, min_size=4, max_size=8, unique_by=lambda told: told["time"])),
        from_start=draw(st.booleans()),
        to_end=draw(st.booleans()),
        dense=draw(st.booleans()),
        corrupt=draw(st.frozensets(PLACES, min_size=2, max_size=6)),
        notes=draw(st.lists(NOTES, min_size=2, max_size=6)) if kinds is TRANSACTED else (),
    )


def once_dumped(rows: Sequence[Row]) -> list[Row]:
    """Without a second record of a broker at an offset: a log has one."""
    seen = {(r["broker"], r["partition"], r["offset"]): r for r in rows if r["f"] == "replica"}
    held = {id(row) for row in seen.values()}
    return [row for row in rows if row["f"] != "replica" or id(row) in held]


@st.composite
def dumped(draw: st.DrawFn) -> list[Row]:
    """Which replicas were dumped, and where their logs begin."""
    every = [(partition, broker) for partition in range(PARTITIONS) for broker in (1, 2, 3)]
    return [
        {"partition": partition, "log_start": draw(st.sampled_from([0, 0, 2]))}
        for partition, _ in draw(st.sampled_from([every, every, every[:2], every[3:], []]))
    ]
