"""A demand on holes is refused where offsets without a record prove nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.scenario import ScenarioError
from harness.scenario.file import read_scenario


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("[topic.config]\n'cleanup.policy' = 'compact'", "the log is compacted"),
        ("[workload.producer]\n'transactional.id' = 't'", "transactions take offsets"),
    ],
)
def test_what_leaves_offsets_without_a_record(tmp_path: Path, keys: str, told: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f"title = 't'\n[workload]\nkind = 'stream'\n{keys}\n[expect]\nhole = '0'\n")
    with pytest.raises(ScenarioError, match=rf"expect\.hole: .*{told}"):
        read_scenario(str(file))
