"""A verb's name stands in its own file: what judges and tells reads what the plan says of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from harness.checkout import ROOT
from harness.nemesis.verbs import VERBS

ANALYSIS = sorted((ROOT / "analysis").rglob("*.py"))
NAMES = VERBS.keys() - {"duplicate", "command"}  # an anomaly, and a key of run.json


@pytest.mark.parametrize("file", ANALYSIS, ids=lambda file: str(file.relative_to(ROOT)))
def test_analysis_names_no_verb(file: Path) -> None:
    """Nor the leftover `slow`."""
    texts = {
        node.value
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }

    assert set() == texts & (NAMES | {"slow"})
