"""What every worker shares: its SPEC, `ready` and `go`, SIGTERM, the time limit, and its end.

    python -m workloads.<module> SPEC.json

With `private` in the SPEC the first line of stdin is a JSON object of client settings (TLS, SASL)
that every client of the worker gets and no file has.

stdout: {"event": "ready"} once the topic is seen, {"event": "done", "reason": ...} at the end. The
load begins at the line `go` on stdin; EOF before it ends the worker. SIGTERM means: begin nothing
new, await what is outstanding for up to `flush_s`, end. SIGINT is for the harness. A worker ends by
itself `limit_s` after the start of the process.

Exit 0: it ended in order, whatever the cluster did to it. 64: the SPEC is wrong. 70: the worker
itself failed; the history (and one line on stderr) says why.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal, Self

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from harness.history.progress_page import DONE, RUNNING, Progress
from harness.history.recorder import Recorder

EXIT_OK, EXIT_USAGE, EXIT_BROKEN = 0, 64, 70
CONNECT_LIMIT_S: Final = 55.0  # the harness gives up at 60, and should hear why
PUBLISH_EVERY_NS: Final = 10_000_000

Reason = Literal["done", "stopped", "fatal", "time-limit"]
_SECRET = ("password", "secret", ".pem", "sasl.oauthbearer.config")


class SpecError(ValueError):
    """The SPEC is wrong; one sentence that names file and key."""


class WorkerError(RuntimeError):
    """The worker cannot do its work; one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The SPEC of one worker. It may have keys that the worker does not use.

    A worker with keys of its own has a subclass, and gives it to `main`.
    """

    run_id: str
    process: str
    history: Path
    topic: str
    partitions: int
    config: Mapping[str, Any]  # librdkafka's keys, addresses included
    limit_s: float
    flush_s: float = 30.0
    index: int = 0  # the producer's number: the high bits of its values
    consumer_config: Mapping[str, Any] = field(default_factory=dict)  # write-read only
    rounds: int = 10_000
    read_deadline_ms: int = 1000
    sizes: Sequence[tuple[int, int]] = ((100, 100),)  # ranges of bytes, each as likely
    keys: int | str = "none"  # how many there are, or of which kind (workloads/client/records.py)
    tombstones: float = 0.0  # the share of records without a value
    partitioner: str = "ours"
    rate: float = 1000.0  # sends/s
    when_full: str = "fail"  # the queue: or "wait", for at most so long
    max_block_ms: int = 60_000
    longest_outage_s: float = 30.0
    transaction_sends: int = 100  # with a transactional.id only, as the next
    transaction_abort_every: int = 0  # transactions; 0: none is aborted on purpose
    transaction_abort_share: float = 0.0  # and at random, by seed and process
    seed: int = 0  # the run's
    refusals_stand: bool = False  # nothing in the run changes what brokers refuse
    largest_batch: int = 0  # bytes that the topic takes; 0: not known
    use_added_partitions: bool = False
    record: str = ""  # the text of each record, or a file of them (workloads/client/texts.py)
    record_file: str = ""
    key: str = ""
    headers: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""  # of what is read: where it has its input's value; empty: it is no output
    private: bool = False  # further settings come on stdin, and are never written down

    @property
    def has_texts(self) -> bool:
        """Whether records are texts of the user's."""
        return bool(self.record or self.record_file)

    @classmethod
    def read(cls, path: Path) -> Self:
        """The SPEC in a JSON file, without unknown keys. Raises SpecError."""
        try:
            raw = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise SpecError(f"{path}: not a worker's SPEC: {error}") from None
        if not isinstance(raw, dict):
            raise SpecError(f"{path}: not a worker's SPEC: a JSON object is needed")
        given: dict[str, Any] = {}
        for spec_field in fields(cls):
            if spec_field.name in raw:
                given[spec_field.name] = _check_value(
                    path, spec_field.name, str(spec_field.type), raw[spec_field.name]
                )
            elif spec_field.default is MISSING and spec_field.default_factory is MISSING:
                raise SpecError(f"{path}: {spec_field.name} is missing")
        return cls(**given)


_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "Path": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "int | str": (int, str),
    "Mapping[str, Any]": (dict,),
    "Sequence[tuple[int, int]]": (list,),
    "Sequence[str]": (list,),
}


def _check_value(path: Path, key: str, wanted: str, given: Any) -> Any:
    if not isinstance(given, _JSON_TYPES[wanted]) or isinstance(given, bool) != (wanted == "bool"):
        raise SpecError(f"{path}: {key}: {wanted} is needed, not {given!r}")
    if isinstance(given, int | float) and given < 0:
        raise SpecError(f"{path}: {key}: {given} is negative")
    return Path(str(given)) if wanted == "Path" else given


@dataclass(slots=True, kw_only=True)
class Counts:
    """A worker's counts so far, for the `end` event and the progress page."""

    sends: int = 0
    acked: int = 0
    failed: int = 0
    info: int = 0
    reads: int = 0
    errors: int = 0
    refusal: int = 0  # the code by which the last send without an ack was refused; 0: otherwise
    last_ack_ns: int = 0

    @property
    def outstanding(self) -> int:
        """Sends whose end is not known yet."""
        return self.sends - self.acked - self.failed - self.info


class Session:
    """One worker's life: its recorder and counters, and whether it must end."""

    def __init__(self, role: str, spec: Spec) -> None:
        self.spec = _with_private_settings(spec) if spec.private else spec
        self.counts = Counts()
        self.recorder = Recorder(spec.history, spec.process)
        self.progress = Progress.open(spec.history, spec.process)
        self.told_to_stop = False
        self.fatal = False  # the client said that it can never send again
        self._deadline_ns = time.monotonic_ns() + int(spec.limit_s * 1e9)
        self._publish_ns = 0
        self.recorder.event(
            "start",
            pid=os.getpid(),
            role=role,
            config=_without_secrets(spec.config),
            consumer_config=_without_secrets(spec.consumer_config),
            librdkafka=confluent_kafka.libversion()[0],
        )

    def over(self) -> bool:
        """Whether to begin nothing new: told to stop, or past the time limit."""
        return self.told_to_stop or time.monotonic_ns() >= self._deadline_ns

    def held(self) -> bool:
        """Whether the harness holds the load back: no further send may begin for now."""
        return 0 <= self.progress.allowed <= self.counts.sends

    def reason(self) -> Reason:
        """Why the worker ends, once its work is over."""
        if self.fatal:
            return "fatal"
        if self.told_to_stop:
            return "stopped"
        return "time-limit" if time.monotonic_ns() >= self._deadline_ns else "done"

    def connect(self, client: Any, ready: Callable[[], bool] = lambda: True) -> None:
        """Return once the client knows a leader for every partition and is `ready`, or the worker
        must end.

        `client` is a Producer, a Consumer or an AdminClient. Raises WorkerError when that takes too
        long.
        """
        limit_ns = min(time.monotonic_ns() + int(CONNECT_LIMIT_S * 1e9), self._deadline_ns)
        lacking: str | None = "no answer"
        while not self.told_to_stop:
            if lacking is not None:
                lacking = self._lacking(client)
            elif ready():
                return
            client.poll(0.02)
            if time.monotonic_ns() >= limit_ns:
                servers = self.spec.config.get("bootstrap.servers", "(no bootstrap.servers)")
                why = lacking or "the producer got no producer id"
                raise WorkerError(f"{servers}: not ready for topic {self.spec.topic}: {why}")

    def _lacking(self, client: Any) -> str | None:
        """What the client does not know of the topic yet; None when nothing is missing."""
        try:
            topic = client.list_topics(self.spec.topic, timeout=1.0).topics[self.spec.topic]
        except KafkaException as error:
            return str(error.args[0].str())
        leaders = [p.leader for p in topic.partitions.values() if p.leader >= 0]
        if topic.error is None and len(leaders) >= self.spec.partitions:
            return None
        return str(topic.error or f"{len(leaders)} of {self.spec.partitions} leaders are known")

    def await_go(self, serve: Callable[[], object]) -> bool:
        """Print `ready` and wait for `go`, serving the client; False when the worker must end."""
        _say("ready")
        heard = b""
        while not self.over():
            serve()
            if not select.select([0], [], [], 0.02)[0]:
                continue
            read = os.read(0, 4096)
            heard += read
            if b"go" in heard:
                self.progress.state = RUNNING
                return True
            if not read:
                self.told_to_stop = True
        return False

    def publish(self, now_ns: int) -> None:
        """Update the progress page, at most every 10 ms."""
        if now_ns < self._publish_ns:
            return
        self._publish_ns = now_ns + PUBLISH_EVERY_NS
        page, counts = self.progress, self.counts
        page.sends, page.acked, page.failed = counts.sends, counts.acked, counts.failed
        page.info, page.reads, page.errors = counts.info, counts.reads, counts.errors
        page.last_ack_ns, page.refusal = counts.last_ack_ns, counts.refusal

    def client_error(self, error: KafkaError) -> None:
        """Record an error that a client reported by itself: a result, not a failure of ours."""
        self.fatal = self.fatal or error.fatal()
        self.passing_error(error)

    def passing_error(self, error: KafkaError) -> None:
        """Record an error of a client that is replaced when it cannot go on."""
        self.counts.errors += 1
        self.recorder.event("client-error", code=error.code(), name=error.name(), text=error.str())

    def end(self, reason: Reason) -> None:
        """Write the end and close the files."""
        counts = self.counts
        self._publish_ns = 0
        self.publish(time.monotonic_ns())
        self.progress.state = DONE
        self.recorder.end(
            reason=reason,
            sends=counts.sends,
            acked=counts.acked,
            failed=counts.failed,
            info=counts.info,
            reads=counts.reads,
        )
        self.recorder.close()
        _say("done", reason=reason)


def main(role: str, work: Callable[[Session], object], spec_class: type[Spec] = Spec) -> int:
    """Run one worker from its command line to its exit code; its `session.spec` is a `spec_class`.

    harness.model.worker_kinds has a line for each worker.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        spec = spec_class.read(Path(sys.argv[1] if len(sys.argv) == 2 else "SPEC.json"))
    except SpecError as error:
        print(f"{role}: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_USAGE
    try:
        session = Session(role, spec)
    except OSError as error:
        print(f"{role}: cannot record in {spec.history}: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_BROKEN
    signal.signal(signal.SIGTERM, _stopper(session))
    # Nothing here makes reference cycles, and a collection over the outstanding sends of a long
    # outage would pause the worker.
    gc.disable()
    return _carry_out(session, work)


def _carry_out(session: Session, work: Callable[[Session], object]) -> int:
    try:
        work(session)
    except Exception as error:  # whatever it was belongs in the history
        words = str(error) if isinstance(error, WorkerError) else traceback.format_exc()
        line = str(error) if isinstance(error, WorkerError) else repr(error)
        print(f"{session.spec.process}: {line}", file=sys.stderr)  # noqa: T201
        with contextlib.suppress(OSError, ValueError):
            session.counts.errors += 1
            session.recorder.event("client-error", code=None, name=type(error).__name__, text=words)
            session.end("fatal")
        return EXIT_BROKEN
    session.end(session.reason())
    return EXIT_OK


def _stopper(session: Session) -> Callable[[int, FrameType | None], None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        session.told_to_stop = True

    return stop


def _say(event: str, **more: Any) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more: the history still says it
        print(json.dumps({"event": event, **more}), flush=True)  # noqa: T201


def _without_secrets(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration for the history, without secrets."""
    return {
        key: "(hidden)" if any(word in key for word in _SECRET) else value
        for key, value in config.items()
    }


def _with_private_settings(spec: Spec) -> Spec:
    """The SPEC with the settings from stdin, read byte by byte because `go` comes there too."""
    line = b"".join(iter(lambda: os.read(0, 1).strip(b"\n"), b""))
    private = json.loads(line or "{}")
    return replace(
        spec,
        config={**spec.config, **private},
        consumer_config={**spec.consumer_config, **private} if spec.consumer_config else {},
    )


def leave(code: int) -> None:
    """Exit without librdkafka's farewell, which can wait for brokers that do not answer."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
