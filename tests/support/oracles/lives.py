"""A second opinion on owners of partitions and on transactions that hang: docs/anomalies.md, moment
by moment, in plain Python."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from tests.support.random_histories.lives import MS, STEP

Row = Mapping[str, Any]
Found = Iterator[tuple[str, Any]]
Owned = tuple[int, int]  # a partition, in a generation
NEVER = 10**9  # ms
SLACK = 10_000  # ms


def owners(run: Any) -> Found:
    """Each two that own a partition together, and each partition that is nobody's: its name, and
    what is told of it in ms."""
    told = sorted((e for e in run.events if _is_judged(run)), key=lambda e: int(e["time_ns"]))
    members = {e["process"] for e in told if e["event"] in ("member", "assigned")}
    told = [event for event in told if event["process"] in members]
    states = list(_states(told))
    yield from _together(states)
    damaged = any((each.process or "").startswith("group-") for each in run.suspect)
    if not damaged:
        yield from _nobodys(run, told, {owned for _, who in states for owned, _ in who})


def _is_judged(run: Any) -> bool:
    return bool(run.grouped) and "group.instance.id" not in run.scenario["workload"]["consumer"]


def _states(told: list[Row]) -> Iterator[tuple[int, set[tuple[Owned, str]]]]:
    """After each event: when, and who owns what."""
    now: set[tuple[Owned, str]] = set()
    for event in told:
        who, named = event["process"], _partitions(event["text"])
        mine = {owned for owned, owner in now if owner == who}
        if event["event"] in ("member", "assigned"):
            generation = _generation(event)
            gets = named if event["event"] == "assigned" else set()
            parts = {p for p, _ in mine} | gets
            mine = {(p, generation) for p in parts} if generation is not None else set()
        elif event["event"] == "revoked" and named:
            mine = {(p, generation) for p, generation in mine if p not in named}
        else:
            mine = set()
        now = {each for each in now if each[1] != who} | {(owned, who) for owned in mine}
        yield event["time_ns"] // MS, now


def _together(states: list[tuple[int, set[tuple[Owned, str]]]]) -> Found:
    since = dict[tuple[Owned, str], int]()
    for time, now in [*states, (None, set[tuple[Owned, str]]())]:
        owners_of = defaultdict[Owned, list[str]](list)
        for owned, who in now:
            owners_of[owned].append(who)
        both = {
            (owned, ", ".join(sorted(pair)))
            for owned, them in owners_of.items()
            for pair in combinations(them, 2)
        }
        for each in since.keys() - both:
            (partition, _), pair = each
            yield "two-owners", (partition, pair, since.pop(each), time)
        for each in both - since.keys():
            since[each] = time or 0


def _nobodys(run: Any, told: list[Row], owned: set[Owned]) -> Found:
    given = [e for e in told if e["event"] == "assigned"]
    somewhere = {p for e in given if _generation(e) is None for p in _partitions(e["text"])}
    work = run.scenario["workload"]
    session = work["consumer"].get("session.timeout.ms", 45_000)
    least = session + work["batch"] * work["process_ms"] + SLACK
    for generation in {_generation(e) for e in given} - {None}:
        begin = max(e["time_ns"] for e in given if _generation(e) == generation) // MS
        end = run.load_end_ns // MS
        for event in told:
            other = _generation(event) not in (None, generation)
            ends = event["event"] in ("revoked", "dies", "end") or other
            if ends and event["time_ns"] // MS > begin:
                end = min(end, event["time_ns"] // MS)
        if _quiet(run, begin, end) <= least:
            continue
        for partition in {0, 1} - somewhere:
            if (partition, generation) not in owned:
                yield "unowned-partition", (partition, begin, end)


def _quiet(run: Any, begin: int, end: int) -> int:
    """The longest time without a fault, step by step."""
    longest = here = 0
    for time in range(begin, end, STEP):
        struck = any(fault["invoke_ns"] // MS <= time < _healed(fault) for fault in run.faults)
        here = 0 if struck else here + STEP
        longest = max(longest, here)
    return longest


def hanging(run: Any) -> Found:
    """Each partition whose last stable offset stands: where, and since when that is known."""
    healed = [_healed(fault) for fault in run.faults]
    if not run.tells_transactions or NEVER in healed:
        return
    timeout = run.scenario["workload"]["producer"].get("transaction.timeout.ms", 60_000)
    looked_for = [*run.node_settings["server"].values(), 10_000][0]
    off = [0, *(step["effects"]["skews_clock_s"] for step in run.plan if step["effects"])]
    apart = int((max(off) - min(off)) * 1000)
    by = [*healed, run.load_end_ns // MS]
    notes = [event for event in run.events if event["event"] == "transaction"]
    for who in {(note["process"], note["transaction"]) for note in notes}:
        mine = [note for note in notes if (note["process"], note["transaction"]) == who]
        last = max(mine, key=lambda note: int(note["time_ns"]))
        by.append(last["time_ns"] // MS)
        if last["name"] not in ("committed", "aborted"):
            by[-1] += timeout + looked_for + apart + (timeout if last["name"] == "begun" else 0)
    for partition in (0, 1):
        told = [end for end in run.ends if end["partition"] == partition]
        last = max(told, key=lambda end: int(end["time_ns"]), default=None)
        if last is None or None in (last["committed_end"], last["uncommitted_end"]):
            continue
        asked = (last["time_ns"] if last["since_ns"] is None else last["since_ns"]) // MS
        if last["committed_end"] < last["uncommitted_end"] and asked > max(by) + SLACK:
            yield "hanging-transaction", (partition, last["committed_end"], asked)


def _healed(fault: Row) -> int:
    return NEVER if fault["heal_ok_ns"] is None else int(fault["heal_ok_ns"]) // MS


def _generation(event: Row) -> int | None:
    told = event["generation"]
    return None if told is None or told < 0 else int(told)


def _partitions(text: str | None) -> set[int]:
    return {int(number) for number in re.findall(r"\d+", text or "")}
