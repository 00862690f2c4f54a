"""What is kept of brokers, when, and how much: on folders as brokers have them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from harness.cluster.capabilities import Cluster
from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import Node
from harness.cluster.view import log_tails
from harness.run.evidence import keeper as module
from harness.run.evidence.broker_words import RunClock
from harness.run.evidence.keeper import Keeper
from tests.support.disk_nodes import Nodes
from tests.support.log_segments import committed, records

NODES = local_nodes(1, 3)
KAFKA1, KAFKA2, KAFKA3 = NODES[1:]
CLOCK = RunClock(monotonic_ns=0, utc=datetime(2026, 11, 23, tzinfo=UTC), zone=UTC)


@dataclass
class Folders(Nodes):
    """Three brokers' disks."""

    nodes: tuple[Node, ...] = NODES
    broken: set[str] = field(default_factory=set)

    def data_folder(self, node: Node) -> Path:
        if node.name in self.broken:
            raise OSError(5, "Input/output error")
        return self.folder / node.name


class Kept:
    """A keeper, the disks that it looks at, and what it wrote and said."""

    def __init__(self, folder: Path, cluster: Any = None) -> None:
        self.folder = folder
        self.lines: list[dict[str, Any]] = []
        self.told: list[str] = []
        self.cluster = cluster or Folders(folder)
        (folder / "logs").mkdir()
        for node in NODES[1:]:
            (folder / "logs" / f"{node.name}.log").touch()
        self.keeper = Keeper(
            cluster=cast(Cluster, self.cluster),
            topic="t",
            internal=("__consumer_offsets",),
            write=lambda event, **fields: self.lines.append({"event": event, **fields}),
            tell=self.told.append,
        )

    def has(self, node: Node, *batches: bytes, watermark: int | None = None) -> None:
        """What a broker has of partition 0."""
        data = self.folder / node.name
        (data / "t-0").mkdir(parents=True, exist_ok=True)
        (data / "t-0" / f"{0:020d}.log").write_bytes(b"".join(batches))
        (data / "t-0" / "leader-epoch-checkpoint").write_text("0\n1\n3 0\n")
        if watermark is not None:
            text = f"0\n2\nother 0 9\nt 0 {watermark}\n"
            (data / "replication-offset-checkpoint").write_text(text)

    def finish(self) -> None:
        self.keeper.finish(self.folder / "logs", CLOCK)

    def offsets(self, moment: str, broker: str) -> list[int]:
        """Those of the records that were kept of a broker."""
        return [
            offset
            for line in self.of("kept-batch")
            if (line["moment"], line["broker"]) == (moment, broker)
            for offset, _ in line["records"]
        ]

    def of(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]


@pytest.fixture
def kept(tmp_path):
    return Kept(tmp_path)


def some(first: int, end: int) -> list[bytes]:
    return [records(n, [100 + n]) for n in range(first, end)]


def test_the_tail_begins_at_the_lowest_watermark_of_any_replica(kept):
    kept.has(KAFKA1, *some(0, 9), watermark=7)
    kept.has(KAFKA2, *some(0, 7), watermark=5)
    kept.has(KAFKA3, *some(0, 7), watermark=6)

    kept.keeper.before_return([KAFKA1])
    kept.finish()

    assert kept.offsets("before-return", "kafka1") == [5, 6, 7, 8]
    (tail,) = kept.of("kept-tail")
    told = {k: tail[k] for k in ("log_start", "begin", "log_end", "watermark", "lowest")}
    assert told == {"log_start": 0, "begin": 5, "log_end": 9, "watermark": 7, "lowest": 5}
    assert not tail["cut_short"]
    assert kept.of("kept-epochs")[0]["epochs"] == [(3, 0)]


def test_what_is_truncated_afterwards_was_kept(kept):
    """The smallest story: kafka1 had offset 2, came back, and has it no more."""
    for node in NODES[1:]:
        kept.has(node, *some(0, 2), watermark=2)
    kept.has(KAFKA1, *some(0, 3))
    kept.keeper.before_return([KAFKA1])
    kept.has(KAFKA1, *some(0, 2))
    kept.keeper.at_end()
    kept.finish()

    assert kept.offsets("before-return", "kafka1") == [2]
    ends = {t["broker"]: t["log_end"] for t in kept.of("kept-tail") if t["moment"] == "end"}
    assert ends == {"kafka1": 2, "kafka2": 2, "kafka3": 2}


def test_without_a_checkpoint_all_of_it_is_the_tail(kept):
    kept.has(KAFKA1, *some(0, 3), watermark=3)
    kept.has(KAFKA2, *some(0, 2))

    kept.keeper.before_return([KAFKA1])
    kept.finish()

    assert kept.offsets("before-return", "kafka1") == [0, 1, 2]


def test_a_broker_without_a_replica_has_no_watermark(kept):
    kept.has(KAFKA1, *some(0, 3), watermark=2)

    kept.keeper.before_return([KAFKA1, KAFKA2])
    kept.finish()

    assert kept.offsets("before-return", "kafka1") == [2]
    assert len(kept.of("kept-tail")) == 1


def test_nodes_that_are_no_brokers_have_no_log(kept):
    kept.keeper.before_return([NODES[0]])
    kept.finish()

    assert kept.lines == []


def test_a_batch_is_written_once_before_and_again_at_the_end(kept):
    for node in NODES[1:]:
        kept.has(node, *some(0, 2), watermark=1)
    kept.keeper.before_return([KAFKA1])
    kept.has(KAFKA1, *some(0, 4))
    kept.keeper.before_return([KAFKA1])
    kept.keeper.at_end()
    kept.finish()

    assert sorted(kept.offsets("before-return", "kafka1")) == [1, 2, 3]
    assert kept.offsets("end", "kafka1") == [1, 2, 3]
    assert kept.offsets("end", "kafka2") == [1]


def test_another_batch_at_the_same_offset_is_another_one(kept):
    for node in NODES[1:]:
        kept.has(node, watermark=0)
    kept.has(KAFKA1, records(0, [7], epoch=0))
    kept.keeper.before_return([KAFKA1])
    kept.has(KAFKA1, records(0, [8], epoch=1))
    kept.keeper.before_return([KAFKA1])
    kept.finish()

    assert [(b["epoch"], b["records"]) for b in kept.of("kept-batch")] == [
        (0, [[0, 7]]),
        (1, [[0, 8]]),
    ]


def test_a_log_that_nobody_changed_is_not_kept_twice(kept):
    """Healing keeps it, and so does starting the process right after that."""
    kept.has(KAFKA1, *some(0, 2), watermark=0)
    kept.keeper.before_return([KAFKA1])
    kept.keeper.before_return([KAFKA1])
    kept.finish()

    assert len(kept.of("kept-tail")) == 1


def test_a_tail_is_bounded(kept, monkeypatch):
    size = len(some(0, 1)[0])
    monkeypatch.setattr(module, "MOST_TAIL_BYTES", 2 * size)
    kept.has(KAFKA1, *some(0, 5), watermark=0)

    kept.keeper.before_return([KAFKA1])
    kept.finish()

    assert kept.offsets("before-return", "kafka1") == [3, 4]
    (tail,) = kept.of("kept-tail")
    assert (tail["begin"], tail["cut_short"]) == (3, True)


def test_all_tails_of_a_run_are_bounded(kept, monkeypatch):
    size = len(some(0, 1)[0])
    monkeypatch.setattr(module, "MOST_BYTES", 3 * size)
    for node in NODES[1:]:
        kept.has(node, *some(0, 2), watermark=0)

    kept.keeper.before_return([KAFKA1, KAFKA2, KAFKA3])
    kept.finish()

    assert [kept.offsets("before-return", f"kafka{n}") for n in (1, 2, 3)] == [[0, 1], [1], []]
    assert [tail["cut_short"] for tail in kept.of("kept-tail")] == [False, True, True]


def test_all_records_of_a_run_are_bounded_and_what_may_be_gone_comes_first(kept, monkeypatch):
    monkeypatch.setattr(module, "MOST_RECORDS", 7)
    for node in NODES[1:]:
        kept.has(node, *some(0, 2), watermark=0)

    kept.keeper.before_return([KAFKA1])
    kept.keeper.at_end()
    kept.finish()

    assert kept.offsets("before-return", "kafka1") == [0, 1]
    assert [kept.offsets("end", f"kafka{n}") for n in (1, 2, 3)] == [[0, 1], [0, 1], [0]]
    (missing,) = kept.of("not-kept")
    assert "from offset 1 on" in missing["text"]
    assert missing["broker"] == "kafka3"
    assert [t["broker"] for t in kept.of("kept-tail") if t["cut_short"]] == ["kafka3"]


def test_a_disk_that_cannot_be_read_is_said_and_the_others_are_kept(kept, monkeypatch):
    kept.has(KAFKA1, *some(0, 2), watermark=0)
    kept.has(KAFKA2, *some(0, 2), watermark=0)
    real = log_tails.tail

    def tail(folder, *asked):
        if "kafka1" in str(folder):
            raise OSError(5, "Input/output error")
        return real(folder, *asked)

    monkeypatch.setattr(log_tails, "tail", tail)
    kept.keeper.at_end()
    kept.finish()

    (missing,) = kept.of("not-kept")
    assert (missing["broker"], "Input/output" in missing["text"]) == ("kafka1", True)
    assert kept.offsets("end", "kafka2") == [0, 1]
    assert "evidence: not kept: " in kept.told[0]


def test_where_no_watermark_can_be_seen_nothing_is_kept_and_nothing_fails(kept):
    kept.cluster.broken.add("kafka2")
    kept.keeper.before_return([KAFKA1])
    kept.finish()

    (missing,) = kept.of("not-kept")
    assert "Input/output error" in missing["text"]


def test_where_disks_cannot_be_seen_that_is_said_and_the_logs_are_read(tmp_path):
    class Containers:
        nodes = NODES

    kept = Kept(tmp_path, Containers())
    said = "INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset 4"
    (tmp_path / "logs" / "kafka2.log").write_text(f"[2026-11-23 00:00:01,000] {said}")
    kept.keeper.before_return([KAFKA1])
    kept.keeper.at_end()
    kept.finish()

    (cut,) = kept.of("truncated")
    assert (cut["broker"], cut["offset"], cut["logged_ms"]) == ("kafka2", 4, 1000)
    (missing,) = kept.of("not-kept")
    assert "cannot be seen" in missing["text"]


def test_a_log_file_that_is_not_there_is_said(kept):
    (kept.folder / "logs" / "kafka3.log").unlink()
    kept.finish()

    (missing,) = kept.of("not-kept")
    assert (missing["broker"], missing["text"]) == (
        "kafka3",
        "its log is not among the run's logs",
    )


def test_a_full_disk_ends_no_run(kept):
    def full(event, **fields):
        raise OSError(28, "No space left on device")

    kept.keeper.write = full
    kept.has(KAFKA1, *some(0, 2), watermark=0)
    kept.keeper.at_end()
    kept.finish()

    assert any("No space left on device" in line for line in kept.told)


def test_of_kafkas_own_topics_the_whole_log_is_kept_at_the_end(kept):
    """What was committed, as every broker has it; nothing of it before."""
    kept.has(KAFKA1, *some(0, 2), watermark=2)
    folder = kept.folder / "kafka1" / "__consumer_offsets-2"
    folder.mkdir()
    (folder / f"{0:020d}.log").write_bytes(committed(0, 42))
    (kept.folder / "kafka1" / "replication-offset-checkpoint").write_text(
        "0\n2\n__consumer_offsets 2 1\nt 0 2\n"
    )
    kept.keeper.before_return([KAFKA1])
    assert kept.of("kept-entries") == []
    kept.keeper.at_end()
    kept.finish()

    (entries,) = kept.of("kept-entries")
    ((offset, text),) = entries["records"]
    assert (entries["topic"], entries["partition"], offset) == ("__consumer_offsets", 2, 0)
    assert json.loads(text)["offset"] == 42
