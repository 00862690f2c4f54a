"""Transformers at work in any way: what they take, what they make of it and what of that is there
may contradict one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.support.oracles.operations import PARTITIONS, Case, Row

INPUTS, OUTPUTS = (0, 1, 2), (10, 11, 12, 13)
DUE = st.sampled_from([50, 100])  # few moments, so that what is made often meets its input
WORKERS = st.sampled_from(["transformer-0", "transformer-0", "transformer-1", "one"])
ENDS = st.sampled_from(["ok", "info", "info", "fail"])
ERRORS = {"info": ["_MSG_TIMED_OUT", "_MSG_TIMED_OUT", "_NO_ACK"], "fail": ["_ABORTED"]}
FEW = st.lists(st.integers(0, 3), max_size=2, unique=True)  # offsets


@st.composite
def transformed(draw: st.DrawFn) -> Case:
    """Three inputs in partition 0, four outputs in partition 1."""
    rows = [row for value in INPUTS for row in _inputs(draw, value)]
    rows += [_taken(draw) for _ in range(draw(st.integers(0, 5)))]
    rows += [row for value in OUTPUTS for row in _made(draw, value)]
    rows.append(_row("commit", None, 0, draw(st.integers(0, 4)), process="transformer-0"))
    ends = [
        {
            "complete": draw(st.integers(0, 4)) > 0,
            "log_start": 2 * (partition and draw(st.integers(0, 4)) == 0),
            "position": draw(st.sampled_from([0, 4])),
        }
        for partition in range(PARTITIONS)
    ]
    dirty = draw(st.booleans())
    return Case(
        rows=rows,
        ends=ends,
        transforms=draw(st.integers(0, 4)) > 0,
        transactional=dirty,
        dirty=dirty,
    )


def _inputs(draw: st.DrawFn, value: int) -> Iterator[Row]:
    """A record that somebody sent, or nobody: where it was read, and where it was polled."""
    for _ in range(draw(st.sampled_from([0, 1, 1, 1]))):
        sender = draw(st.sampled_from(["one", "one", "one", "transformer-1"]))
        yield _row("send", value, 0, draw(st.integers(0, 3)), process=sender, kind=draw(ENDS))
    for at in draw(FEW):
        yield _row("final-read", value, 0, at, process="final")
    for at in draw(FEW):
        yield _row("poll", value, 0, at, process="transformer-0")


def _taken(draw: st.DrawFn) -> Row:
    """The processing of an input."""
    at, value = draw(st.integers(0, 1)), draw(st.sampled_from(INPUTS))
    kind = draw(ENDS)
    offset = None if kind == "info" and draw(st.booleans()) else at
    return _row("process", value, 0, offset, process=draw(WORKERS), kind=kind, start=draw(DUE))


def _made(draw: st.DrawFn, value: int) -> Iterator[Row]:
    """An output, sent or not, and where it was read."""
    for _ in range(draw(st.sampled_from([0, 1, 1, 2]))):
        sent = _row("send", value, 1, 0, process=draw(WORKERS), kind=draw(ENDS), start=200)
        yield {**sent, "due": draw(DUE), "error": _error(draw, sent["type"])}
    for at in draw(FEW):
        yield _row("final-read", value, 1, at, process="final")


def _error(draw: st.DrawFn, kind: str) -> str | None:
    known: Sequence[str | None] = ERRORS.get(kind, [None])
    return draw(st.sampled_from(known))


def _row(f: str, value: int | None, partition: int, offset: int | None, **more: Any) -> Row:
    start, kind = more.get("start", 50), more.get("kind", "ok")
    placed = kind == "ok" or f == "process"
    return {
        "f": f,
        "type": kind,
        "value": value,
        "partition": partition,
        "offset": offset if placed else None,
        "error": None,
        "process": more["process"],
        "broker": None,
        "instance": None,
        "epoch": None,
        "transaction": None,
        "generation": None,
        "start": start,
        "end": start + 10,
    }
