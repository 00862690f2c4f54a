"""The kinds of workers that make a load: what each does, and how many of it a scenario asks for.

    producer        sends                      write-read      sends, and follows the log
    consumer        follows the log            group-consumer  shares the log with its group
    transformer     shares the log with its group, and sends an output for each input

A kind's program is `workloads/<name>.py`, with `_` for `-`; its workers are `<name>-0`, `<name>-1`,
... All else follows from its line in `KINDS`: its SPEC, what is awaited before the load and at its
end, and, where faults may hit it alone, its targets `<name>`, `<name>s` and `<name>-N`
(harness.nemesis.targets).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the one-file job (docs/tables.md) knows the kinds, and has no pydantic
    from harness.model.scenario import WorkloadPart

Count = Callable[["WorkloadPart"], int]

_STREAM_ONLY = 'only a workload of kind "stream" has such workers'


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerKind:
    """What the workers of one name do.

    One that sends has a number of its own among all that do. One that only sends has its share of
    what the load may send; any other ends when it has caught up with the log.
    """

    name: str
    count: Count  # how many the scenario asks for
    sends: bool = False
    follows: bool = False  # reads the whole log, on its own
    member: bool = False  # reads the log as a member of the run's one consumer group
    hit_alone: bool = True  # whether a fault may name it
    lacking: str = "the workload asks for no such worker"  # why there is none, with the remedy
    called: tuple[str, str] | None = None  # one of them and all, as a sentence has them
    program: str = ""  # its program, where that is another kind's

    @property
    def drives(self) -> bool:
        """Whether its sends are the load, not answers to what it reads."""
        return self.sends and not self.member

    @property
    def module(self) -> str:
        """Its program, below `workloads`."""
        return (self.program or self.name).replace("-", "_")

    @property
    def key(self) -> str:
        """The key of `[workload]` that asks for such workers."""
        return f"{self.module}s"

    @property
    def transforms(self) -> bool:
        """Whether it sends outputs of what it reads."""
        return self.sends and self.member

    @property
    def one(self) -> str:
        """One of them, in a sentence."""
        return self.called[0] if self.called else f"a {self.name}"

    @property
    def all(self) -> str:
        """All of them, in a sentence."""
        return self.called[1] if self.called else f"all {self.name}s"


def _in_stream(count: Count) -> Count:
    """So many in a workload of kind "stream", none in another."""
    return lambda work: count(work) if work.kind == "stream" else 0


_ALL = (
    WorkerKind(
        name="write-read",
        count=lambda work: int(work.kind == "write-read"),
        sends=True,
        follows=True,
        hit_alone=False,
    ),
    WorkerKind(
        name="producer",
        count=_in_stream(lambda work: work.producers),
        sends=True,
        lacking=_STREAM_ONLY,
    ),
    WorkerKind(
        name="consumer",
        count=_in_stream(lambda work: work.consumers),
        follows=True,
        lacking=f"{_STREAM_ONLY}, and workload.consumers must be at least 1",
    ),
    WorkerKind(
        name="group-consumer",
        count=_in_stream(lambda work: work.group_consumers),
        member=True,
        lacking="there is no such member of a consumer group: set workload.group_consumers",
        called=("a member of the consumer group", "all members of the consumer group"),
    ),
    WorkerKind(
        name="transformer",
        count=_in_stream(lambda work: work.transformers),
        sends=True,
        member=True,
        lacking="nobody transforms: set workload.transformers",
    ),
)
# Those that send are numbered in this order: a new kind comes last.
KINDS: dict[str, WorkerKind] = {kind.name: kind for kind in _ALL}
# A new kind goes here.

# From this index on values are outputs of members. Below it there is room for each producer and all
# its successors; values of the next 4,192 are still exact as a JSON number (2^53).
FIRST_OUTPUT = 4000

# Not of the load: it reads everything once after it.
FINAL_READ = WorkerKind(name="final-read", count=lambda _: 1, hit_alone=False)
# It reads what programs make of the records, during the load and once after it.
OUTPUT_READER = WorkerKind(name="output-reader", count=lambda _: 1, hit_alone=False)
# The user's own (harness.run.application): no workers of ours, and hit as these are.
PROGRAM = WorkerKind(
    name="program",
    count=lambda _: 0,
    lacking="the scenario starts no program: add [[programs]]",
)


def asked_for(work: WorkloadPart) -> dict[str, int]:
    """How many workers of each kind the workload asks for; kinds of none are left out."""
    counts = {name: kind.count(work) for name, kind in KINDS.items()}
    return {name: count for name, count in counts.items() if count}


def can_be_hit(work: WorkloadPart) -> dict[str, int]:
    """How many workers of each kind a fault may name."""
    return {name: count for name, count in asked_for(work).items() if KINDS[name].hit_alone}


def is_member(name: str) -> bool:
    """Whether workers of that kind are members of the consumer group; False for an unknown kind."""
    return name in KINDS and KINDS[name].member


def kind_named(worker: str) -> WorkerKind | None:
    """The kind of the worker of that name; None if the load has none."""
    return KINDS.get(re.sub(r"(-\d+)+$", "", worker))


def asks_for_members(work: Mapping[str, Any]) -> bool:
    """Whether a stored workload, of whichever harness, asks for members of a group."""
    return any(int(work.get(kind.key) or 0) > 0 for kind in KINDS.values() if kind.member)


def asks_for_transformers(work: Mapping[str, Any]) -> bool:
    """Whether a stored workload asks for workers that transform."""
    return any(int(work.get(kind.key) or 0) > 0 for kind in KINDS.values() if kind.transforms)


def has_group(work: WorkloadPart) -> bool:
    """Whether the run makes a consumer group."""
    return any(KINDS[name].member for name in asked_for(work))
