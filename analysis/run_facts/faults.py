"""What the faults of a run may have done, as far as promises depend on it.

    kill leader hit kafka1, who led      =>  leadership may have moved
    kill follower hit kafka3             =>  it stayed, unless it was seen to move
    lose-disk all hit every broker       =>  all was taken, and the whole ISR was hit

A fault's effects stand in its step of the plan (harness.model.effects). One that can move
leadership where it hits counts where a leader was hit, half of the ZooKeepers or more at a time, or
where leadership was seen to move; one that takes what was written counts by whether it left any
member of an ISR out. A fault whose effects are not known, or whose step is not in the plan, counts
as nothing, or as `EVERYTHING` for who asks what it could have done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.model.effects import Effects, Takes

Row = Mapping[str, Any]

EVERYTHING = Effects(
    leadership="anywhere",
    takes="all",
    alters_stored_bytes=True,
    ends_processes=True,
    topic_settings={
        "unclean.leader.election.enable": "true",
        "flush.messages": "9223372036854775807",
    },
)
_MOST: tuple[Takes, ...] = ("nothing", "unsynced", "all")  # the later, the more


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """The parts of a run's record that tell what happened."""

    faults: Sequence[Row] = ()  # rows of the history's table
    views: Sequence[Row] = ()
    plan: Sequence[Row] = ()  # run.json's: each step has `effects`
    nodes: Mapping[str, Row] = field(default_factory=dict)  # run.json's: by name, with `role`
    ensemble: int = 3  # how many ZooKeepers there are
    members_died: bool = False  # a member of the consumer group

    def effects(self, fault: Row) -> Effects | None:
        """What the fault could do; None: not known."""
        for step in self.plan:
            if step["step"] == fault["step"]:
                known = step.get("effects")
                return None if known is None else Effects.model_validate(known)
        return None

    def unknown(self) -> list[Row]:
        """The faults that hit somebody and of which it is not known what they can do."""
        return [f for f in self.faults if f["nodes"] and self.effects(f) is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What the faults may have done."""

    leader_may_move: bool = False
    takes: Takes = "nothing"  # the most of all
    altered: bool = False  # stored bytes
    whole_isr: bool = False  # every member of an ISR was hit, together, by faults that take
    settings: tuple[Mapping[str, str], ...] = ()  # of the topic, in force from then on
    disturbed: bool = False  # some fault hit somebody


def done(happened: Happened, *, unknown_did_all: bool = False) -> Done:
    """What faults may have done that hit somebody: those of which it is known what they can do,
    or all, as if those others had done everything."""
    unknown = happened.unknown()
    hits = []
    for fault in happened.faults:
        effects = happened.effects(fault) or (EVERYTHING if unknown_did_all else None)
        if fault["nodes"] and effects is not None:
            hits.append(_Hit(fault=fault, effects=effects))
    taking = [hit.fault for hit in hits if hit.effects.takes != "nothing"]
    found = Done(
        leader_may_move=_leader_may_move(hits, happened),
        takes=max((hit.effects.takes for hit in hits), key=_MOST.index, default="nothing"),
        altered=any(hit.effects.alters_stored_bytes for hit in hits),
        whole_isr=_whole_isr(taking),
        settings=tuple(hit.effects.topic_settings for hit in hits if hit.effects.topic_settings),
        disturbed=bool(hits),
    )
    return replace(found, whole_isr=True) if unknown and unknown_did_all else found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hit:
    """A fault that hit somebody, and what it can do."""

    fault: Row
    effects: Effects


# Whether another broker may lead


def _leader_may_move(hits: Sequence[_Hit], happened: Happened) -> bool:
    moved = _leadership_moved(happened.views)
    where_it_hits = [hit.fault for hit in hits if hit.effects.leadership == "where-it-hits"]
    zookeepers = {name for name, n in happened.nodes.items() if n.get("role") == "zookeeper"}

    def may_move(hit: _Hit) -> bool:
        if hit.effects.clients_only:
            return False
        match hit.effects.leadership:
            case "stays":
                return False
            case "if-seen":
                return moved
            case "anywhere":
                return True
        down = zookeepers & _hit_meanwhile(hit.fault, where_it_hits)
        quorum_lost = 2 * len(down) >= happened.ensemble
        return _hits_a_leader(hit.fault, happened.nodes, seen=moved or quorum_lost)

    return any(may_move(hit) for hit in hits)


def _hits_a_leader(fault: Row, nodes: Mapping[str, Row], *, seen: bool) -> bool:
    """Whether the fault hit a node of the cluster, and that a leader as far as is known, or it was
    `seen` by other signs that leadership may have moved."""
    if not any(nodes.get(name, {}).get("role") not in (None, "client") for name in fault["nodes"]):
        return False  # workers
    before = json.loads(fault.get("before") or "{}")
    leaders = (before.get("leader") or {}).values()
    known = bool(leaders) and before.get("known", True)
    return seen or not known or any(name in leaders for name in fault["nodes"])


def _leadership_moved(views: Iterable[Row]) -> bool:
    """Whether some partition was seen to have more than one leader in its time."""
    leaders: dict[int, set[str]] = {}
    for view in views:
        if view["leader"] is not None:
            leaders.setdefault(view["partition"], set()).add(view["leader"])
    return any(len(each) > 1 for each in leaders.values())


# Whom several faults hit together


def _hit_meanwhile(fault: Row, faults: Iterable[Row]) -> set[str]:
    """Whom the fault hit, and others among `faults` that were not healed yet when it began."""
    begin_ns = fault["invoke_ns"]
    return {
        node
        for other in faults
        if other["invoke_ns"] <= begin_ns
        and (other["heal_ok_ns"] is None or other["heal_ok_ns"] > begin_ns)
        for node in other["nodes"]
    }


def _whole_isr(taking: Sequence[Row]) -> bool:
    """Whether some partition's ISR, as it was when one of the faults began, lay wholly within the
    nodes that this fault hit and those that others had hit and that were not healed yet."""
    for fault in taking:
        hit = _hit_meanwhile(fault, taking)
        before = json.loads(fault["before"] or "{}")
        # ZooKeeper could not be asked: who was in the ISR is not known, so it may have been whole.
        if not before.get("known", False):
            return True
        if any(hit.issuperset(isr) for isr in (before.get("isr") or {}).values()):
            return True
    return False
