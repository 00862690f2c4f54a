"""skew-clock: one node's wall clock jumps by `offset_s` seconds and stays that far off.

Undone by `set-clock`, a jump back. Only the wall clock moves, as when NTP or an operator steps a
clock; a JVM's waits and Kafka's timers follow the monotonic clock. Every node of a scenario with
this verb is started under libfaketime, with an offset of zero, and reads its offset each second.

Evidence is the node's own time: on SIGQUIT a JVM writes a thread dump headed by its wall clock (to
the second, so `offset_s` is at least 5 either way).

Source: libfaketime's README; java(1) on SIGQUIT.
"""

from __future__ import annotations

import math
import signal
import time
from contextlib import suppress
from datetime import datetime
from typing import Annotated, cast

from pydantic import AfterValidator, Field

from harness.cluster.capabilities import Clocks, Disks, Preparable, Processes
from harness.cluster.nodes import ClusterError
from harness.model.effects import Effects
from harness.nemesis.faults.processes.revive import disks
from harness.nemesis.faults.processes.signals import processes
from harness.nemesis.options import Options
from harness.nemesis.target import Target
from harness.nemesis.verb import Injection, Trial, Verb

LEAST_S = 5
ASK_EVERY_S = 1.0
DUMP_HEAD = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$"


def _far_enough(offset_s: float) -> float:
    if abs(offset_s) < LEAST_S:
        raise ValueError(
            f"offset_s is {offset_s:g}, must be at least {LEAST_S} or at most -{LEAST_S}"
        )
    return offset_s


class SkewClockOptions(Options):
    """How far the clock is off."""

    offset_s: Annotated[
        float,
        AfterValidator(_far_enough),
        Field(
            description=f"the clock's jump in seconds, at least {LEAST_S} or at most -{LEAST_S}",
            examples=[-60],
            json_schema_extra={"anyOf": [{"minimum": LEAST_S}, {"maximum": -LEAST_S}]},
        ),
    ]


def _skew(injection: Injection) -> None:
    _clocks(injection).set_clock(injection.node, _offset_s(injection))


def _unskew(injection: Injection) -> None:
    _clocks(injection).set_clock(injection.node, 0)


def _skewed(injection: Injection) -> str | None:
    ahead_s, offset_s = _ahead_s(injection), _offset_s(injection)
    if ahead_s is None or abs(ahead_s - offset_s) > abs(offset_s) / 2:
        return None
    return f"the clock of {injection.node.name} is {ahead_s:+.0f} s ahead by its own thread dump"


def _right(injection: Injection) -> str | None:
    ahead_s = _ahead_s(injection)
    if ahead_s is None or abs(ahead_s) > abs(_offset_s(injection)) / 2:
        return None
    return f"the clock of {injection.node.name} is right again by its own thread dump"


def _ahead_s(injection: Injection) -> float | None:
    """How far ahead the node's clock is, read at most once a second."""
    memo, now = injection.memo, time.monotonic()
    if now - memo.get("asked_s", -math.inf) >= ASK_EVERY_S:
        memo["asked_s"], memo["asked_at"] = now, datetime.now()  # noqa: DTZ005  as the JVM prints it
        with suppress(ClusterError):  # another fault keeps it down
            processes(injection).signal(injection.node, signal.SIGQUIT)
        return None
    line = disks(injection).said(injection.node, DUMP_HEAD)
    if line is None:
        return None
    ahead: float = (datetime.fromisoformat(line) - memo["asked_at"]).total_seconds()
    return ahead


def _effects_of(given: Options, _: Target) -> Effects:
    offset_s = SkewClockOptions.of(given).offset_s
    return Effects(leadership="where-it-hits", skews_clock_s=offset_s)


def _offset_s(injection: Injection) -> float:
    return SkewClockOptions.of(injection.options).offset_s


def _clocks(injection: Injection) -> Clocks:
    return cast(Clocks, injection.cluster)


SKEW_CLOCK = Verb(
    name="skew-clock",
    undo="set-clock",
    done="hit by clock skew",
    effects=_effects_of,
    options=SkewClockOptions,
    needs=(Processes, Disks, Clocks, Preparable),
    holds="clock",
    prepares="fake-time",
    inject=_skew,
    proof_in_force=_skewed,
    heal=_unskew,
    healed=_right,
    trial=Trial(options={"offset_s": 3600}),
    host={"libfaketime": ""},
)
