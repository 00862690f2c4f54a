"""docs/tutorial.md: what of it needs no cluster is done here, all of it in tests/live."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.checkout import DOCS
from tests.support.commands import with_command
from tests.support.consoles import Step, is_shown, steps
from tests.support.needs import needs

STEPS = steps((DOCS / "tutorial.md").read_text())
NEEDS_CLUSTER = "kafka-harness run"


def test_what_comes_before_the_first_run_is_as_shown(tmp_path: Path) -> None:
    needs("kafka")
    first = next(n for n, step in enumerate(STEPS) if step.command.startswith(NEEDS_CLUSTER))
    assert first > 3

    for step in STEPS[:first]:
        done = subprocess.run(
            ["bash", "-c", step.command],
            cwd=tmp_path,
            env=with_command(tmp_path.parent / "bin"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, is_shown(done.stdout, step.shown)) == (step.code, True), (
            f"{step}\n{done.stdout}{done.stderr}"
        )


PAGE = """
```console
$ run it
one   two …
…
last
$ echo $?
1
$ then that
```
```toml
$ not this
```
"""


def test_a_page_s_commands_are_read_with_what_is_shown_of_them() -> None:
    assert steps(PAGE) == [
        Step(command="run it", shown=("one   two …", "…", "last"), code=1),
        Step(command="then that"),
    ]


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("one two 3\nlast\n", True),
        ("one two\t3\n4\n5\nlast\n", True),
        ("one two 3\nlast\nmore\n", False),
        ("two 3\nlast\n", False),
        ("one two 3\n", False),
    ],
)
def test_what_is_said_is_compared_line_by_line(said: str, right: bool) -> None:
    assert is_shown(said, steps(PAGE)[0].shown) is right


def test_of_a_command_without_output_nothing_is_compared() -> None:
    assert is_shown("anything", ())


def test_the_pages_have_the_layers_as_one_table() -> None:
    """What of a user's files and of the scenario a run has, wherever somebody looks for it."""
    pages = [(DOCS / name).read_text() for name in ("scenario.md", "tutorial.md", "faq.md")]
    tables = [page.partition("<!-- layers -->")[2].partition("<!-- end -->")[0] for page in pages]

    assert "--topic-config" in tables[0]
    assert 1 == len({*tables})
