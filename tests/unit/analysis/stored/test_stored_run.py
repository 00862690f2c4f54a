"""What a stored run says of itself, from its record alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.stored.stored_run import open_run
from harness.model.worker_kinds import KINDS, WorkerKind
from tests.support import story_runs
from tests.support.histories import damage, final_read, polled, sent, story
from tests.support.stored_runs import bare_run


@pytest.mark.parametrize(
    ("role", "code", "died"),
    [
        ("group-consumer", -9, True),
        ("group-consumer", 0, False),
        ("slow-member", -9, True),
        ("producer", -9, False),
        ("of-an-old-run", -9, False),
        (None, -9, False),
    ],
)
def test_a_member_of_any_kind_that_ended_badly_has_died(
    role: str | None, code: int, died: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = WorkerKind(name="slow-member", count=lambda _: 1, member=True)
    monkeypatch.setitem(KINDS, "slow-member", slow)

    run = bare_run({"workers": [{"role": role, "exit": code}]})

    assert run.members_died == died


@pytest.mark.parametrize(
    ("load_s", "bucket_ms"),
    [
        (0, 100),
        (119, 100),
        (120, 500),
        (100_000, 500),
        (100_001, 501),  # 200,000 buckets of 500 ms are too few
        (200_000, 1000),
    ],
)
def test_the_timeline_s_buckets_grow_with_the_load(load_s: int, bucket_ms: int) -> None:
    assert bare_run({}, load_end_ns=load_s * 10**9).bucket_ms == bucket_ms


@pytest.mark.parametrize(
    ("work", "follows"),
    [
        ({"kind": "stream"}, False),
        ({"kind": "stream", "consumers": 0}, False),
        ({"kind": "stream", "consumers": 1}, True),
        ({"kind": "write-read"}, True),
    ],
)
def test_a_consumer_follows_the_log_where_there_is_one(work: dict[str, Any], follows: bool) -> None:
    assert bare_run({"scenario": {"workload": work}}).tailing is follows


@pytest.mark.parametrize(
    ("work", "grouped", "transforms"),
    [
        ({"kind": "stream"}, False, False),
        ({"kind": "stream", "group_consumers": 2}, True, False),
        ({"kind": "stream", "group_consumers": 0, "transformers": 1}, True, True),
    ],
)
def test_transformers_are_a_group(work: dict[str, Any], grouped: bool, transforms: bool) -> None:
    run = bare_run({"scenario": {"workload": work}})

    assert (run.grouped, run.transforms) == (grouped, transforms)


@pytest.mark.parametrize(("name", "deaths"), [("transformer-0", [4000]), ("group-consumer-0", [])])
def test_of_all_that_a_transformer_did_its_sends_tell_whose_they_are(
    name: str, deaths: list[int], tmp_path: Path
) -> None:
    """It was given records of others, too."""
    parts = [sent(1, at=0), polled(1, at=0, process=name), final_read(1), damage("no-end", name)]
    if deaths:
        parts.append(sent(4000 << 40, ended="info", took=None, process=name))
    run = open_run(story_runs.write_story(story(*parts, commit="after"), tmp_path, "told/0"))

    assert [death["producer"] for death in run.deaths] == deaths
