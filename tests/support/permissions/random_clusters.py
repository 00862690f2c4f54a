"""Random stories of clusters: who led, who was in sync, what was done to nodes, who saw it.

Leaders and ISRs change as Kafka changes them: each leader raises the epoch, a leader is in its own
ISR, an unclean election leaves the elected one alone in it. What is written down of that is what a
look every 50 ms shows, but for blind stretches. Faults are anything at any time: nobody asks
whether they explain the changes. Records begin and end around every moment that can matter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from harness.model.effects import Effects
from tests.support.permissions.cluster import ENSEMBLE, UNCLEAN, Cluster, Sent

BROKERS = ("kafka1", "kafka2", "kafka3")
START, LOOK, SECOND = 10**12, 5 * 10**7, 10**9
# What a story is about: leaders that do not know it, strikes, unclean elections, or anything.
THEMES = {
    "deposed": ("prefer", "prefer", "same", "move", "grow", "nobody"),
    "struck": ("shrink", "grow", "grow", "prefer", "same", "nobody"),
    "unclean": ("shrink", "shrink", "unclean", "unclean", "grow", "move"),
    "forgotten": ("prefer", "move", "same", "grow", "nobody"),
    "anything": ("move", "prefer", "unclean", "nobody", "same", "shrink", "shrink", "grow", "grow"),
}
GAPS = st.sampled_from([LOOK // 5, LOOK, SECOND, 3 * SECOND, 3 * SECOND, 9 * SECOND, 20 * SECOND])
MOVES, ENDS = {"leadership": "anywhere"}, {"leadership": "where-it-hits", "ends_processes": True}
VERBS: dict[str, dict[str, Any] | None] = {
    "kill": ENDS,
    "crash-loop": {**ENDS, "starts_again": True},
    "pause": {"leadership": "where-it-hits"},
    "cut": MOVES,
    "lose-power": {**MOVES, "ends_processes": True, "takes": "unsynced"},
    "lose-disk": {**MOVES, "ends_processes": True, "takes": "all"},
    "flip-bit": {"alters_stored_bytes": True},
    "set-config": {},
    "throttle": MOVES,
    "command": None,
    "elect": {**MOVES, "topic_settings": {UNCLEAN: "true"}},
    "skew-clock": {"leadership": "where-it-hits", "skews_clock_s": 90_000},
    "dump-log": {},
}
ABOUT = {
    "deposed": ("kill", "pause", "cut", "throttle", "crash-loop", "command"),
    "forgotten": (*["skew-clock"] * 4, "kill", "kill", "crash-loop"),
    "struck": ("lose-disk", "lose-power", "flip-bit", "flip-bit", "kill", "crash-loop", "command"),
    "unclean": ("set-config", "set-config", "kill", "dump-log", "command"),
    "anything": tuple(VERBS),
}
_ALONE = [(name,) for name in BROKERS]
HITS = (*_ALONE, *_ALONE, BROKERS[:2], BROKERS[1:], BROKERS, ("zk1",), ENSEMBLE[:2], ())
STRUCK = [BROKERS[:1], BROKERS[:1], BROKERS[1:2], BROKERS[:2]]
LACKED_BY = (*((name,) for name in BROKERS), BROKERS[:2], BROKERS[1:])
SKEWS_S = (90_000.0, 90_000.0, 86_400.0, 86_399.0)
SETTINGS = ({UNCLEAN: "true"}, {UNCLEAN: "false"}, {"flush.messages": "500"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cluster's story, and records of it."""

    cluster: Cluster
    records: tuple[Sent, ...]


@dataclass(slots=True, kw_only=True)
class _Partition:
    """What is really so."""

    leader: str | None
    isr: tuple[str, ...]
    epoch: int

    def turn(self, step: str, draw: st.DrawFn) -> None:
        """One change, as far as it is possible now."""
        in_sync = [name for name in self.isr if name != self.leader]
        outside = [name for name in BROKERS if name not in self.isr]
        if step == "grow" and outside and self.leader:
            self.isr = tuple(sorted((*self.isr, draw(st.sampled_from(outside)))))
        elif step == "shrink" and in_sync and self.leader:
            gone = draw(st.sampled_from(in_sync))
            self.isr = tuple(name for name in self.isr if name != gone)
            self.epoch += draw(st.integers(0, 1))  # the leader drops it, or the controller does
        elif step == "unclean" and outside:
            self._lead(draw(st.sampled_from(outside)), alone=True)
        elif step in ("move", "prefer") and in_sync:
            old, new = self.leader, draw(st.sampled_from(in_sync))
            self._lead(new)
            if step == "move":
                self.isr = tuple(name for name in self.isr if name != old)
        elif step == "nobody" and self.leader:
            self.isr, self.leader, self.epoch = (self.leader,), None, self.epoch + 1
        elif step == "same" or self.leader is None:
            self._lead(self.leader or self.isr[0])

    def _lead(self, name: str, *, alone: bool = False) -> None:
        self.leader, self.epoch = name, self.epoch + 1
        self.isr = (name,) if alone else self.isr


@st.composite
def clusters(draw: st.DrawFn) -> Case:
    """A story and its records."""
    partitions = draw(st.sampled_from([1, 1, 2]))
    theme = draw(st.sampled_from(list(THEMES)))
    views, blind, end = _looked(draw, partitions, theme)
    several = {"struck": [1, 2, 2, 3], "deposed": [0, 0, 1], "forgotten": [2, 3, 4]}
    hits = STRUCK if theme in ("struck", "forgotten") else HITS
    numbers = several.get(theme, [0, 1, 1, 2, 3, 4])
    faults, plan, options = faults_of(draw, views, ABOUT[theme], hits, numbers)
    acks = "1" if theme == "deposed" else draw(st.sampled_from(["1", "all", "all", "all"]))
    allowed = {"unclean": ["true", "true", "false"], "anything": ["true", "false"]}
    topic = {UNCLEAN: draw(st.sampled_from(allowed.get(theme, ["false"])))}
    if draw(st.integers(0, 4)) == 0:
        topic = {**topic, "flush.messages": "1"}
    cluster = Cluster(
        views=views,
        blind=blind,
        faults=faults,
        effects=plan,
        options=options,
        brokers=BROKERS,
        partitions=partitions,
        replicas=3,
        topic=topic,
        acks=acks,
        retries=0 if acks == "all" and draw(st.integers(0, 3)) else 5,
        idempotent=theme == "forgotten" or draw(st.integers(0, 5)) == 0,
        epochs=draw(st.integers(0, 9)) > 0,
        checks_crcs=draw(st.integers(0, 4)) == 0,
        follower_reads=draw(st.integers(0, 4)) == 0,
        lag_max_ms=draw(st.sampled_from([2_000, 10_000])),
        read_ended={p: end + 10**6 * p for p in range(partitions)},
    )
    return Case(cluster=cluster, records=tuple(records_of(draw, cluster, end)))


# --- views


def _looked(
    draw: st.DrawFn, partitions: int, theme: str
) -> tuple[list[dict[str, Any]], list[Any], int]:
    """What a look every 50 ms shows of a random course of events; when the final read ended."""
    controller, with_epochs = draw(st.sampled_from(BROKERS)), draw(st.integers(0, 9)) > 0
    with_since = draw(st.integers(0, 3)) > 0
    most = 2 if theme == "struck" else 3
    first = BROKERS if theme == "deposed" else BROKERS[: draw(st.integers(1, most))]
    real = [_Partition(leader=BROKERS[0], isr=first, epoch=4) for _ in range(partitions)]
    if partitions > 1 and draw(st.integers(0, 3)) == 0:
        real[1].leader, real[1].isr = BROKERS[1], BROKERS
    shown: dict[int, Any] = {}
    views: list[dict[str, Any]] = []
    blind: list[dict[str, Any]] = []
    dark_since, last_look, now = None, START - LOOK, START
    late = draw(st.integers(0, 19)) == 0
    few = theme in ("deposed", "struck")
    for number in range(draw(st.integers(2, 4 if few else 9))):
        told = dark_since is None
        if told and not (late and number < 2):
            for place, each in enumerate(real):
                state = (each.leader, each.isr, each.epoch if with_epochs else None, controller)
                if shown.get(place) != state:
                    since = last_look if with_since and place in shown else None
                    views.append(_view(now, since, place, state))
                    shown[place] = state
        for _ in range(draw(st.sampled_from([0, 1, 1, 1, 1, 2]))):
            draw(st.sampled_from(real)).turn(draw(st.sampled_from(THEMES[theme])), draw)
        gap = draw(GAPS)
        last_look, now = (now + gap - gap % LOOK if told else last_look), now + gap + LOOK
        if dark_since is None and draw(st.integers(0, 5 if theme == "anything" else 19)) == 0:
            dark_since = last_look
        elif dark_since is not None and draw(st.booleans()):
            blind.append({"start_ns": dark_since, "end_ns": now - LOOK // 2})
            dark_since = None
        if draw(st.integers(0, 9)) == 0:
            controller = draw(st.sampled_from(BROKERS))
    if dark_since is not None:
        blind.append({"start_ns": dark_since, "end_ns": None})
    return views, blind, now + draw(st.sampled_from([LOOK, 5 * SECOND, 40 * SECOND]))


def _view(now: int, since: int | None, partition: int, state: Any) -> dict[str, Any]:
    leader, isr, epoch, controller = state
    return {
        "time_ns": now,
        "since_ns": since,
        "partition": partition,
        "leader": leader,
        "isr": list(isr),
        "leader_epoch": epoch,
        "controller": controller,
    }


# --- faults


def faults_of(
    draw: st.DrawFn,
    views: Sequence[Any],
    verbs: Sequence[str],
    hits: Sequence[tuple[str, ...]],
    numbers: Sequence[int],
) -> tuple[list[Any], Any, Any]:
    """Faults by these verbs, at these nodes, as many as one of the numbers says; what is known of
    their effects, by step, and their options."""
    moments = [view["time_ns"] for view in views] or [START]
    faults, plan, options = [], {}, {}
    for step in range(draw(st.sampled_from(numbers))):
        verb = draw(st.sampled_from(verbs))
        nodes = draw(st.sampled_from(hits))
        invoke = draw(st.sampled_from(moments)) + draw(
            st.sampled_from([-4 * SECOND, -SECOND, -LOOK // 5, 0, LOOK // 5, SECOND])
        )
        took = draw(st.sampled_from([LOOK // 5, SECOND, 4 * SECOND, 8 * SECOND]))
        proved = None if draw(st.integers(0, 9)) == 0 else invoke + took
        lasts = draw(st.sampled_from([1, SECOND, 6 * SECOND, 25 * SECOND]))
        healing = None if draw(st.integers(0, 5)) == 0 else invoke + took + lasts
        healed = None if healing is None or draw(st.integers(0, 9)) == 0 else healing + SECOND
        known = VERBS[verb]
        if verb == "set-config":
            known = {"topic_settings": draw(st.sampled_from(SETTINGS))}
        if verb == "skew-clock":
            known = {**(known or {}), "skews_clock_s": draw(st.sampled_from(SKEWS_S))}
        if verb == "command" and draw(st.integers(0, 2)):
            known = MOVES
        if verb == "elect":
            options[step] = {"how": "unclean"}
        if verb == "cut":
            peers = ["others", "followers", "zookeepers", "kafka2", "clients"]
            options[step] = {"from": draw(st.sampled_from(peers))}
        plan[step] = None if known is None else Effects.model_validate(known).model_dump()
        faults.append(
            {
                "fault": step,
                "step": step,
                "verb": verb,
                "target": "one",
                "nodes": list(nodes),
                "invoke_ns": invoke,
                "ok_ns": proved,
                "heal_invoke_ns": healing,
                "heal_ok_ns": healed,
                "evidence": _evidence(draw, verb),
                "heal_evidence": None,
                "error": None,
                "before": _before(draw, views, invoke),
                "after": None,
            }
        )
    return sorted(faults, key=lambda fault: int(fault["invoke_ns"])), plan, options


def _evidence(draw: st.DrawFn, verb: str) -> str | None:
    if verb != "flip-bit":
        return "seen" if draw(st.booleans()) else None
    place = draw(st.sampled_from(["harness-0", "harness-0", "harness-1", "harness-10"]))
    return f"byte 9 of {place}/00000000000000000000.log of kafka1 was 0x0a and is 0x0b"


def _before(draw: st.DrawFn, views: Sequence[Any], moment: int) -> str | None:
    """What the harness knew when it began: the last views, or nothing, or what was so once."""
    kind = draw(st.sampled_from(["none", "none", "blind", "empty"]))
    if kind == "none":
        return None
    last = {str(v["partition"]): v for v in views if v["time_ns"] <= moment}
    isr = {place: [] if kind == "empty" else view["isr"] for place, view in last.items()}
    leader = {place: view["leader"] for place, view in last.items()}
    return json.dumps({"leader": leader, "isr": isr, "controller": "kafka1", "known": False})


# --- records


def records_of(draw: st.DrawFn, cluster: Cluster, end: int) -> list[Sent]:
    """Sends around the moments that can matter."""
    lag = int(cluster.lag_max_ms * 1_500_000)
    seen = [view["time_ns"] for view in cluster.views]
    moments = {START, end, *seen, *(view["since_ns"] or START for view in cluster.views)}
    moments |= {moment + lag for moment in seen} | {moment + 2 * lag // 3 for moment in seen}
    if cluster.kraft:  # a session before a change, and as long before that as who led is followed
        moments |= {m - 9 * SECOND for m in seen} | {m - 9 * SECOND - lag for m in seen}
    names = ("invoke_ns", "ok_ns", "heal_invoke_ns", "heal_ok_ns")
    moments |= {fault[name] for fault in cluster.faults for name in names if fault[name]}
    moments |= {time for row in cluster.blind for time in row.values() if time}
    around = [-LOOK // 2, -1, 0, 1, LOOK // 2]
    times = st.tuples(st.sampled_from(sorted(moments)), st.sampled_from(around)).map(sum)
    sends = []
    for _ in range(16):
        begun, known = sorted([draw(times), draw(times)])
        if draw(st.booleans()):
            known = begun + draw(st.sampled_from([1, LOOK, SECOND]))
        sends.append(
            Sent(
                partition=draw(st.integers(0, cluster.partitions - 1)),
                begun=begun,
                known=known,
                delivered=draw(st.booleans()),
                looked=(looked := draw(times)),
                shown=draw(st.sampled_from([None, looked, looked + 1, looked + LOOK])),
                lacked_by=draw(st.sampled_from(LACKED_BY)),
            )
        )
    return sends
