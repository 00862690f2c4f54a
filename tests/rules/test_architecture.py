"""docs/architecture.md shows the real imports: its picture and its table are made from them."""

from __future__ import annotations

import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

from harness.checkout import DOCS, ROOT
from scripts import architecture, user_strings


def test_the_page_is_what_its_command_would_write() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "architecture.py"), "--check"], check=False
    )

    assert done.returncode == 0, "run: python scripts/architecture.py"


def test_no_room_stands_above_itself() -> None:
    assert tuple(graphlib.TopologicalSorter(architecture.arrows()).static_order())


def test_arrows_that_follow_from_others_are_left_out() -> None:
    graph = {"cli": frozenset({"run", "model"}), "run": frozenset({"model"}), "model": frozenset()}

    assert architecture.reduced(graph) == {**graph, "cli": frozenset({"run"})}


def test_every_path_that_the_page_names_is_there() -> None:
    page = (DOCS / "architecture.md").read_text()
    names = {word for word in page.split("`") if "/" in word and " " not in word}
    named = {name for name in names if "NAME" not in name and not name.startswith("..")}

    assert len(named) > 20
    assert [] == [name for name in sorted(named) if not (ROOT / name).exists()]


def test_the_listing_of_texts_has_those_of_code_help_scripts_scenarios_and_templates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    user_strings.main([])
    lines = capsys.readouterr().out.splitlines()
    places = {Path(line.split(":")[0]) for line in lines}

    assert {
        Path("harness/cli.py"),
        Path("harness/scenario/rules.py"),
        Path("harness/scenarios/baseline.toml"),
        Path("harness/cluster/sidecar/sidecar.sh"),
        Path("analysis/report/templates/page.html"),
    } <= places
    said = {line.split(": ", 1)[1] for line in lines}
    assert {"paused", "another harness is connected"} <= said  # one word; in a script
