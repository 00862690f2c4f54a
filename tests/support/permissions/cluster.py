"""What was recorded of a cluster, and words for its times, for the second opinion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
NO, MAYBE, YES = 0, 1, 2
WORDS = {NO: "forbidden", MAYBE: "in-doubt", YES: "permitted"}
EVER, NEVER = -(10**18), 10**18
TWO_LOOKS = 10**8
ENSEMBLE = ("zk1", "zk2", "zk3")
CONTROLLERS = ("controller1", "controller2", "controller3")
UNCLEAN, FLUSH = "unclean.leader.election.enable", "flush.messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What was recorded of a run: its tables, and what of its plan and configuration matters."""

    views: Any
    blind: Any = ()
    faults: Any = ()
    effects: Mapping[int, Row | None] = field(default_factory=dict)  # by step; None: not known
    options: Mapping[int, Row] = field(default_factory=dict)
    brokers: tuple[str, ...] = ("kafka1", "kafka2", "kafka3")
    partitions: int = 1
    replicas: int = 3
    topic: Mapping[str, str] = field(default_factory=dict)
    acks: str = "all"
    retries: int = 0
    idempotent: bool = False
    epochs: bool = True
    checks_crcs: bool = False
    follower_reads: bool = False
    lag_max_ms: float = 30_000
    kraft: bool = False
    dynamic: bool = False  # voters are known by their disks, too
    combined: bool = False  # the brokers are the controllers
    elr: bool = False  # who is eligible to lead is remembered
    min_isr: int = 1
    unclean_by_setting: bool = True
    read_ended: Mapping[int, int] = field(default_factory=dict)

    @property
    def quorum(self) -> tuple[str, ...]:
        """Who keeps the metadata."""
        if not self.kraft:
            return ENSEMBLE
        return self.brokers if self.combined else CONTROLLERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A record: when its send began, and when it was known to be there (acked, given, ended)."""

    partition: int
    begun: int | None
    known: int | None
    delivered: bool = False
    looked: int | None = None  # when what shows the anomaly began
    shown: int | None = None  # and ended; None: the final read shows it
    lacked_by: tuple[str, ...] = ()  # members of the ISR


def rose(before: Row | None, after: Row | None) -> int:
    """By how much the epoch rose; many where that is not known."""
    first, last = ((view or {}).get("leader_epoch") for view in (before, after))
    return 99 if first is None or last is None else int(last - first)


def term(view: Row | None) -> tuple[Any, Any]:
    return (None, None) if view is None else (view["leader"], view["leader_epoch"])


def told(view: Row) -> bool:
    """Whether it says who is in the ISR."""
    return bool(view["isr"]) or view.get("elr") is not None


def eligible(view: Row) -> set[str]:
    """ISR and ELR."""
    return {*view["isr"], *(view.get("elr") or ())}


def led_anew(last: Row | None, view: Row) -> bool:
    if last is None:
        return False
    if last["leader"] != view["leader"]:
        return True
    epochs = last["leader_epoch"], view["leader_epoch"]
    return None not in epochs and epochs[0] != epochs[1]


def or_never(time_ns: int | None) -> int:
    return NEVER if time_ns is None else time_ns


def span(fault: Row) -> tuple[int, int]:
    return fault["invoke_ns"], or_never(fault["heal_ok_ns"])


def four(fault: Row) -> tuple[int, int, int, int]:
    """invoke, ok, heal invoke, heal ok; those that never came: never."""
    ok, healing, healed = (fault[n] for n in ("ok_ns", "heal_invoke_ns", "heal_ok_ns"))
    return fault["invoke_ns"], or_never(ok), or_never(healing), or_never(healed)


def meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]
