"""Refuses entries of [[workload.members]] that have no member, or do nothing."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.scenario import WorkloadPart
from harness.model.worker_kinds import KINDS, asked_for

# Promises are derived from one value of each for the whole group (analysis.causes.run_facts).
SHARED = (
    *("isolation.level", "auto.offset.reset", "check.crcs", "client.rack"),
    *("group.protocol", "group.instance.id", "enable.auto.commit"),
)
_TOGETHER = (("slow_every", "slow_ms"), ("pause_every", "pause_ms"))


def member_problems(work: WorkloadPart) -> Iterator[str]:
    """What is wrong with the entries, a sentence each."""
    members = sum(count for name, count in asked_for(work).items() if KINDS[name].member)
    if len(work.members) > members:
        yield (
            f"workload.members has {len(work.members)} entries, but the group has {members} "
            "members: raise workload.group_consumers or workload.transformers, or remove some"
        )
    for number, member in enumerate(work.members):
        where = f"workload.members.{number}"
        for key in SHARED:
            if key in member.consumer:
                yield (
                    f"{where}.consumer.{key}: what a group is promised goes by one value for all "
                    "its members: set it in workload.consumer"
                )
        for often, long in _TOGETHER:
            lacking = [key for key in (often, long) if not getattr(member, key)]
            if len(lacking) == 1:
                other = often if lacking == [long] else long
                yield f"{where}.{other} does nothing without {lacking[0]}: set both, or none"
