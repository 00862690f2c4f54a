"""dump-log: breaks nothing; dumps the logs of the target's brokers as they are at that moment.

It shows what an experiment claims of a replica's log ("the record was on all three"). Kafka's own
DumpLogSegments reads the first partition's segments on the broker's disk, while the broker goes on.
Its output is kept as logs/dump-<step>-<broker>.txt of the run.

It is in force when every dump is complete. There is nothing to undo.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import cast

from harness.cluster.capabilities import Dump, Dumps
from harness.cluster.nodes import ClusterError, Node
from harness.model.effects import Effects
from harness.nemesis.verb import BROKERS, Injection, Verb

_START = re.compile(r"^Log starting offset: (\d+)\s*$", re.MULTILINE)  # once for each segment
_BATCH = re.compile(r"^(?:baseOffset: \d+ lastOffset|offset): (\d+) ", re.MULTILINE)
_RECORD = re.compile(  # of ours: workloads/client/payload.py
    r"offset: (?P<offset>\d+) .*?payload: (?P<value>\d+) \d+ -?\d+ [0-9a-f]{8}\s*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumped:
    """One broker's log: our values by offset, and its start and end, with all other records and
    control batches; None where the text does not have them."""

    records: dict[int, int]
    log_start: int | None  # the first offset of its first segment
    log_end: int | None

    def in_words(self) -> str:
        """Its first and its last record."""
        if not self.records:
            return "no record"
        return f"offsets {min(self.records):,} to {max(self.records):,}"


def read(text: str) -> Dumped:
    """The log in the output of DumpLogSegments --print-data-log, whatever the records' format."""
    starts = [int(start) for start in _START.findall(text)]
    ends = [int(last) + 1 for last in _BATCH.findall(text)]
    return Dumped(
        records={int(record["offset"]): int(record["value"]) for record in _RECORD.finditer(text)},
        log_start=min(starts, default=None),
        log_end=max([*starts, *ends], default=None),
    )


def log_of(node: Node, dump: Dump) -> Dumped:
    """A node's log, by a dump that has ended. Raises ClusterError when the dump failed."""
    text = dump.file.read_text(errors="replace")
    if dump.process.returncode != 0:
        last = text.strip().splitlines()[-1:]
        raise ClusterError(f"the log of {node.name} could not be dumped: {' '.join(last)}")
    return read(text)


def _begin(injection: Injection) -> None:
    cluster, view = cast(Dumps, injection.cluster), injection.view
    log = f"{view.topic}-{injection.roles.partition}"
    injection.memo["dumps"] = [
        (node, cluster.start_dump(node, log, f"dump-{injection.fault}-{node.name}.txt"))
        for node in injection.nodes
    ]


def _is_there(injection: Injection) -> str | None:
    dumps: list[tuple[Node, Dump]] = injection.memo["dumps"]
    if any(dump.process.poll() is None for _, dump in dumps):
        return None
    sentences = []
    for node, dump in dumps:
        sentences.append(f"{node.name} holds {log_of(node, dump).in_words()}")
    return ", ".join(sentences)


def _end(injection: Injection) -> None:
    for _, dump in injection.memo.get("dumps", ()):
        process: subprocess.Popen[bytes] = dump.process
        if process.poll() is None:
            process.kill()
        process.wait()


def _over(_: Injection) -> str | None:
    return "the logs were only read"


DUMP_LOG = Verb(
    name="dump-log",
    undo="leave",
    done="",
    effects=Effects(),
    needs=(Dumps,),
    hits=BROKERS,
    together=True,
    patience=2.0,
    inject=_begin,
    proof_in_force=_is_there,
    heal=_end,
    healed=_over,
)
