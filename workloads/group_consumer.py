"""A member of a consumer group: polls, processes, commits, and records each of the three.

It takes up to `batch` records (workloads/client/member.py), and then by `commit`:

    after     process them, commit: at least once        a member that dies in between: reprocessed
    before    commit, process them: at most once         a member that dies in between: skipped
    auto      process them; the client commits by itself, every auto.commit.interval.ms, what it has
              handed over, processed or not: neither     both

To process a record is to record that (and to take `process_ms` for it): an effect that outlives
SIGKILL, done when its `process` is ok, in doubt while it is open. If the commit before processing
is refused, the batch is dropped unprocessed. The member processes all that it keeps, because no
poll returns it again.

`dies` ends the member at such a point (workloads/client/death.py).
"""

from __future__ import annotations

import time

from harness.history.record_format import NOTHING, OK, PROCESS
from workloads.client.death import Death
from workloads.client.member import Member, MemberSpec, Taken
from workloads.worker import Session, leave, main


def group_consumer(session: Session) -> None:
    """Live in the group until told to stop."""
    assert isinstance(session.spec, MemberSpec)
    GroupConsumer(session, session.spec).run()


class GroupConsumer:
    """A member that processes its records and sends nothing."""

    def __init__(self, session: Session, spec: MemberSpec) -> None:
        self._session, self._spec, self._recorder = session, spec, session.recorder
        self.member = Member(session, spec, spec.config)
        self._death = Death(session, spec, self.member)

    def run(self) -> None:
        """Join when the load begins, work until the end, leave in order."""
        session, member = self._session, self.member
        session.connect(member.consumer)
        if not session.await_go(lambda: member.consumer.poll(0)):
            return
        member.join()
        while not session.over():
            self.go_round()
            session.publish(time.monotonic_ns())
        member.leave()

    def go_round(self) -> None:
        """Take a batch, process and commit it."""
        self.member.take()
        if not self.member.batch:
            return
        batch = tuple(self.member.batch)
        if self._spec.commit == "before" and not self.member.commit_surely(batch):
            return
        self._death.come("before-process", batch)
        for record in batch:
            self._process(record)
        self._death.come("before-commit", batch)
        if self._spec.commit == "after":
            self.member.commit(batch)

    def _process(self, record: Taken) -> None:
        now = time.monotonic_ns()
        operation = self._recorder.invoke(PROCESS, record.partition, record.value, now, now)
        self.member.work()
        self._recorder.complete(operation, OK, record.offset, time.monotonic_ns(), NOTHING, 0)


if __name__ == "__main__":
    leave(main("group-consumer", group_consumer, MemberSpec))
