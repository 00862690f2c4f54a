"""Ends a member of the group by SIGKILL, where its SPEC plans it.

It dies at a stated point, once `dies_after` records were polled; with `commit = "auto"` only when
the coordinator says that the batch is committed (`before-process`) or is not (`before-commit`), so
that the consequence is certain. It writes the event `dies` first.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from workloads.client.member import Member, MemberSpec, Taken
from workloads.worker import Session


class Death:
    """The planned end of a member."""

    def __init__(self, session: Session, spec: MemberSpec, member: Member) -> None:
        self._session, self._spec, self._member = session, spec, member

    def come(self, point: str, batch: Sequence[Taken]) -> None:
        """Die, if the plan says here and now."""
        if self._spec.dies != point or self._session.counts.reads < self._spec.dies_after:
            return
        if self._spec.commit == "auto" and not self._is_certain(point, batch):
            return
        ends = ", ".join(f"{end.partition}@{end.offset}" for end in self._member.ends_of(batch))
        words = f"{len(batch)} records polled, up to {ends}"
        self._session.recorder.event("dies", name=point, text=words)
        os.kill(os.getpid(), signal.SIGKILL)

    def _is_certain(self, point: str, batch: Sequence[Taken]) -> bool:
        """Whether the client has committed the batch, which this awaits, or has certainly not
        committed it."""
        ends = self._member.ends_of(batch)
        while not self._session.over():
            offsets = {end.partition: end.offset for end in self._member.committed_offsets(ends)}
            covered = [offsets.get(end.partition, 0) >= end.offset for end in ends]
            if point == "before-commit":
                return len(offsets) == len(ends) and not all(covered)
            if all(covered):
                return True
        return False
