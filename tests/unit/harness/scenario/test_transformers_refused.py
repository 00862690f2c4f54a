"""What transformers and transactions, the commits that go with outputs, and compacted topics ask of
the rest of a workload."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.scenario import ScenarioError
from harness.scenario.file import read_scenario

ID = "[workload.producer]\n'transactional.id' = 't'\n"


def read(folder: Path, kind: str, keys: str) -> None:
    file = folder / "mine.toml"
    file.write_text(f"title = 't'\n[workload]\nkind = '{kind}'\n{keys}\n")
    read_scenario(str(file))


@pytest.mark.parametrize(
    ("kind", "keys", "told"),
    [
        ("write-read", "transformers = 1", "workload.transformers counts for kind = 'stream' al"),
        (
            "stream",
            "group_consumers = 1\ntransformers = 1",
            "workload.transformers: they are the run's one group, .*: remove workload.group",
        ),
        (
            "stream",
            f"group_consumers = 1\ncommit = 'transaction'\n{ID}",
            'workload.commit: with "transaction" offsets go with outputs: set workload.transf',
        ),
        (
            "stream",
            "transformers = 1\ncommit = 'transaction'",
            'workload.commit: "transaction" needs .* set workload.producer."transactional.id"',
        ),
        (
            "stream",
            "transaction_abort_share = 0.1",
            "workload.transaction_abort_share: set workload.producer.transactional.id",
        ),
        (
            "stream",
            "transformers = 1\n[workload.producer]\nacks = '0'",
            'workload.commit: "after" awaits .* with workload.producer.acks=0 none comes: raise',
        ),
        (
            "stream",
            "group_consumers = 1\nmembers = [{}, {}]",
            "workload.members has 2 entries, but the group has 1 members: raise workload.group_c",
        ),
        (
            "stream",
            "group_consumers = 1\nmembers = [{ slow_every = 3 }]",
            "workload.members.0.slow_every does nothing without slow_ms: set both, or none",
        ),
        (
            "stream",
            "group_consumers = 1\nmembers = [{ consumer = { 'isolation.level' = 'x' } }]",
            "workload.members.0.consumer.isolation.level: .* set it in workload.consumer",
        ),
        (
            "stream",
            "[topic.config]\n'cleanup.policy' = 'delete,compact'",
            "topic.config.cleanup.policy = delete,compact: .* without a key: set workload.keys",
        ),
        (
            "stream",
            "keys = 9\ntransformers = 1\n[topic.config]\n'cleanup.policy' = 'compact'",
            "topic.config.cleanup.policy = compact: outputs .*: remove workload.transformers",
        ),
        (
            "stream",
            "keys = 9\n[topic.config]\n'cleanup.policy' = 'compact'\n[check]\nreplicas = true",
            "topic.config.cleanup.policy = compact: each replica .*: remove check.replicas",
        ),
        ("stream", "keys = 'per-record'\ntombstones = 0.1", "workload.tombstones: .* to a number"),
        (
            "write-read",
            "[cluster.server]\n'log.cleanup.policy' = 'compact'",
            "cluster.server.log.cleanup.policy = compact: .* without a key: set workload.keys",
        ),
    ],
)
def test_what_makes_no_sense_together_is_refused(
    tmp_path: Path, kind: str, keys: str, told: str
) -> None:
    with pytest.raises(ScenarioError, match=told) as refused:
        read(tmp_path, kind, keys)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "keys",
    [
        f"transformers = 1\ncommit = 'transaction'\n{ID}",
        f"transformers = 1\ncommit = 'after'\n{ID}",
        f"transaction_abort_share = 0.1\n{ID}",
        "transformers = 1\ncommit = 'before'\n[workload.producer]\nacks = '0'",
        "transformers = 2\nmembers = [{ pause_every = 3, pause_ms = 1 }]",
        "keys = 9\n[topic.config]\n'cleanup.policy' = 'compact'",
        "[topic.config]\n'cleanup.policy' = 'delete'\n"
        "[cluster.server]\n'log.cleanup.policy' = 'compact'",
        "transformers = 1\ncommit = 'after'\ndies = ['before-commit']\n[expect]\nskipped = '0'",
    ],
)
def test_all_else_may_be(tmp_path: Path, keys: str) -> None:
    read(tmp_path, "stream", keys)
