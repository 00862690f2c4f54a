"""A demand or a moment is refused where what it is about cannot be seen, or proves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.scenario import ScenarioError
from harness.scenario.file import read_scenario

TRANSACTIONS = "[workload.producer]\n'transactional.id' = 't'\n"
UNCOMMITTED = f"{TRANSACTIONS}[workload.consumer]\n'isolation.level' = 'read_uncommitted'\n"


def read(folder: Path, keys: str, demand: str) -> None:
    """A scenario with these keys that demands there is none of it."""
    file = folder / "mine.toml"
    text = f"title = 't'\n[workload]\nkind = 'stream'\n{keys}\n[expect]\n{demand} = '0'\n"
    file.write_text(text)
    read_scenario(str(file))


@pytest.mark.parametrize(
    ("keys", "demand", "told"),
    [
        ("keys = 9\n[topic.config]\n'cleanup.policy' = 'compact'", "hole", "the log is compacted"),
        (TRANSACTIONS, "hole", "transactions take offsets"),
        ("", "two-owners", "set workload.group_consumers or workload.transformers"),
        ("", "no-output", "set workload.transformers"),
        ("group_consumers = 1", "two-outputs", "set workload.transformers"),
        ("group_consumers = 1\ncommit = 'auto'", "commit-back", 'commit = "auto" nobody knows'),
        ("group_consumers = 1\ncommit = 'auto'", "zombie-commit", 'commit = "auto" nobody knows'),
        ("", "uncommitted-read", "set workload.producer.transactional.id"),
        ("", "torn", "set workload.producer.transactional.id"),
        ("", "hanging-transaction", "set workload.producer.transactional.id"),
        (UNCOMMITTED, "torn", "or aborted transactions are read"),
        ("", "stable-back", "set workload.producer.transactional.id"),
        (UNCOMMITTED, "stable-back", "or aborted transactions are read"),
        ("", "unowned-partition", "set workload.group_consumers"),
        ("", "end-back", "set check.watermarks=true"),
        ("", "watermark-back", "set check.watermarks=true"),
        (TRANSACTIONS, "circular-flow", "set workload.transformers"),
        ("transformers = 2", "circular-flow", "set workload.producer.transactional.id"),
    ],
)
def test_what_could_not_be_judged_is_refused(
    tmp_path: Path, keys: str, demand: str, told: str
) -> None:
    with pytest.raises(ScenarioError, match=rf"expect\.{demand}: .*{told}"):
        read(tmp_path, keys, demand)


@pytest.mark.parametrize(
    ("keys", "demand"),
    [
        ("", "hole"),
        ("group_consumers = 1", "commit-back"),
        ("transformers = 1", "commit-back"),
        ("transformers = 1", "skipped"),
        ("transformers = 1", "no-output"),
        ("transformers = 1", "two-outputs"),
        ("group_consumers = 1\ncommit = 'auto'", "two-owners"),
        ("group_consumers = 1", "unowned-partition"),
        (TRANSACTIONS, "torn"),
        (TRANSACTIONS, "stable-back"),
        (UNCOMMITTED, "uncommitted-read"),
        (UNCOMMITTED, "hanging-transaction"),
        (f"transformers = 2\n{TRANSACTIONS}", "circular-flow"),
        (f"transformers = 2\n{UNCOMMITTED}", "circular-flow"),
    ],
)
def test_what_can_be_judged_may_be_demanded(tmp_path: Path, keys: str, demand: str) -> None:
    read(tmp_path, keys, demand)


PAUSE = '[[faults]]\nverb = "pause"\nat_s = 1\nuntil = "partitions-moved"\n'


@pytest.mark.parametrize(
    ("work", "target", "told"),
    [
        ("group_consumers = 2", "group-consumer", None),
        ("transformers = 2", "transformer-1", None),
        ("group_consumers = 2", "leader", "awaited of one member of the consumer group"),
        ("group_consumers = 2", "producer", "awaited of one member of the consumer group"),
        ("group_consumers = 2", "group-consumers", "awaited of one member of the consumer group"),
        ("transformers = 1", "transformer-0", "no other member: set workload.transformers to 2"),
    ],
)
def test_partitions_move_from_a_member_to_another_one(
    tmp_path: Path, work: str, target: str, told: str | None
) -> None:
    file = tmp_path / "mine.toml"
    head = f"title = 't'\n[workload]\nkind = 'stream'\n{work}\n"
    file.write_text(f'{head}{PAUSE}target = "{target}"\n')
    if told is None:
        read_scenario(str(file))
        return
    with pytest.raises(ScenarioError, match=rf'until: "partitions-moved".*{told}'):
        read_scenario(str(file))
