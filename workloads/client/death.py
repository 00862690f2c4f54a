"""How a member of the group ends itself by SIGKILL, where its SPEC plans it.

It dies at a stated point, once `dies_after` records were polled; with `commit = "auto"` only when
the coordinator says that the batch is committed (`before-process`) or is not (`before-commit`), so
that what must follow is certain. The event `dies` is written before.
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
        """Die, if it is to be here and now."""
        if self._spec.dies != point or self._session.counts.reads < self._spec.dies_after:
            return
        if self._spec.commit == "auto" and not self._stands(point, batch):
            return
        ends = ", ".join(f"{end.partition}@{end.offset}" for end in self._member.ends_of(batch))
        words = f"{len(batch)} records polled, up to {ends}"
        self._session.recorder.event("dies", name=point, text=words)
        os.kill(os.getpid(), signal.SIGKILL)

    def _stands(self, point: str, batch: Sequence[Taken]) -> bool:
        """Whether the client has committed the batch, waited for, or certainly has not yet."""
        ends = self._member.ends_of(batch)
        while not self._session.over():
            known = {end.partition: end.offset for end in self._member.committed(ends)}
            covered = [known.get(end.partition, 0) >= end.offset for end in ends]
            if point == "before-commit":
                return len(known) == len(ends) and not all(covered)
            if all(covered):
                return True
        return False
