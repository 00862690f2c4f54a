"""Reads what programs make of the workload's records: as it comes during the load, and all of it
once after the drain.

At the line `drain` on its stdin it waits until the programs are done, then reads the outputs' topic
from its start to its end, as the final read does. They are done when `group` has committed past the
end of the inputs, their topic has no open transaction, and no output has come for a moment: a
program that commits first sends afterwards. Offsets of an open transaction are none: the
coordinator is asked for stable ones (KIP-447). Without a group, and where inputs are sent in
transactions (nobody commits past the end of the last one), they are done when no output has come
for `quiet_s`; in any case after `drain_s`.

    passed        event: up to where the group has committed in each partition of the inputs
    output-ends   event: what the read of each partition of the outputs reached

With a `command` instead of a topic nothing is read during the load: its lines are the outputs. They
are all of them if it exits 0 within a minute.

Cannot see: what a program still does after the drain.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from harness.history.record_format import FINAL_OUTPUT, NOTHING, OUTPUT
from workloads.client.tail import Tail
from workloads.client.texts import number_in
from workloads.client.whole_read import ASK_LIMIT_S, Asker, read_everything
from workloads.worker import Session, Spec, leave, main

SETTLE_S = 3.0  # after the group has passed all inputs: what was read last is still to be sent
COMMAND_LIMIT_S = 60.0
ASK_EVERY_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSpec(Spec):
    """The SPEC of the reader of outputs; `topic` is theirs."""

    inputs: str
    input_partitions: int
    transactional: bool = False  # inputs are sent in transactions
    command: Sequence[str] = ()
    group: str = ""
    drain_s: float = 120.0
    quiet_s: float = 15.0


def read_outputs(session: Session) -> None:
    """Follow the outputs, await the drain, read all of them."""
    spec = session.spec
    assert isinstance(spec, OutputSpec)
    live = Tail(session, spec.config, f=OUTPUT) if not spec.command else None
    poll: Callable[[float], object] = live.poll if live else _await_a_line
    if live:
        session.connect(live.consumer)
        live.assign(dict.fromkeys(range(spec.partitions), 0))
    if not session.await_go(lambda: poll(0)):
        return
    while not session.over() and not select.select([0], [], [], 0)[0]:
        poll(0.05)
        session.publish(time.monotonic_ns())
    if session.over() or not os.read(0, 4096):
        return
    Drain(session, spec, poll).run()
    if live:
        live.close()
        read_everything(session, FINAL_OUTPUT, "output-ends", at_once=True)
    else:
        _run_command(session, spec.command)


def _await_a_line(timeout_s: float) -> object:
    return select.select([0], [], [], timeout_s)


class Drain:
    """Waits until the programs are done, and tells how far their group came."""

    def __init__(self, session: Session, spec: OutputSpec, poll: Callable[[float], object]) -> None:
        self._session, self._spec, self._poll = session, spec, poll
        inputs = replace(spec, topic=spec.inputs, partitions=spec.input_partitions)
        self._inputs = Asker(session, inputs)
        self._outputs = None if spec.command else Asker(session, spec)
        # It knows the consumer's keys, and warns that they do nothing: spare the log.
        self._admin = AdminClient({**spec.config, "log_level": 0})
        self._passed: dict[int, int] = {}

    def run(self) -> None:
        """Return when they are, or after `drain_s`."""
        spec, session = self._spec, self._session
        begin_s = news_s = time.monotonic()
        asked_s, seen, passed, done = 0.0, session.counts.reads, dict[int, int](), False
        may_be_quiet = not spec.group or spec.transactional
        while not session.over() and time.monotonic() - begin_s < spec.drain_s:
            self._poll(0.05)
            now_s = time.monotonic()
            session.publish(time.monotonic_ns())
            if now_s - asked_s > ASK_EVERY_S:
                asked_s, done = now_s, self._is_done()
            if session.counts.reads != seen or self._passed != passed:
                news_s, seen, passed = now_s, session.counts.reads, self._passed
            still_s = now_s - news_s
            if (may_be_quiet and still_s > spec.quiet_s) or (done and still_s > SETTLE_S):
                break
        for partition, offset in self._passed.items():
            session.recorder.event("passed", partition=partition, position=offset)

    def _is_done(self) -> bool:
        ends = self._inputs.ends()
        if not self._spec.group or ends is None:
            return False
        self._passed = self._ask()
        if any(self._passed.get(p, -1) < end.committed_end for p, end in ends.items()):
            return False
        outputs = self._outputs.ends() if self._outputs else {}
        return outputs is not None and all(
            end.committed_end == end.uncommitted_end for end in outputs.values()
        )

    def _ask(self) -> dict[int, int]:
        """What the group has committed, by partition."""
        spec = self._spec
        places = [TopicPartition(spec.inputs, p) for p in range(spec.input_partitions)]
        try:
            asked = self._admin.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(spec.group, places)],
                require_stable=True,
                request_timeout=ASK_LIMIT_S,
            )
            told = next(iter(asked.values())).result().topic_partitions
        except KafkaException as error:
            self._session.client_error(error.args[0])
            return self._passed
        return {p.partition: p.offset for p in told if p.offset >= 0}


def _run_command(session: Session, command: Sequence[str]) -> None:
    """Record each line that it prints as an output."""
    start_ns = time.monotonic_ns()
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=COMMAND_LIMIT_S,
            check=False,
        )
        lines, complete = done.stdout.splitlines(), done.returncode == 0
        why = "" if complete else f"exit {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        lines, complete, why = [], False, str(error)
    for line in filter(None, map(bytes.strip, lines)):
        value, end_ns = number_in(line), time.monotonic_ns()
        if value is None:
            session.recorder.event("unparsable", partition=0, text=repr(line)[:200])
        told = NOTHING if value is None else value
        session.recorder.record(FINAL_OUTPUT, 0, told, start_ns, NOTHING, end_ns, NOTHING)
        session.counts.reads += 1
    session.recorder.event("output-ends", partition=0, complete=complete, text=why)


if __name__ == "__main__":
    leave(main("output-reader", read_outputs, OutputSpec))
