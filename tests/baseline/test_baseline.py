"""What the checkers say is what tests/baseline says; `python tests/baseline/rewrite.py` writes it.

Red here means: look at the difference. If it is meant, write the files anew and commit them with
the change, whose diff then shows what it did.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

import pytest

from analysis.anomalies import ANOMALIES
from tests.baseline.golden_reports import golden_names, golden_texts
from tests.baseline.promises_text import OF_OTHER_RECORDS, deciding, promises_text
from tests.baseline.rewrite import HERE
from tests.baseline.sentences_text import sentences_text

SHOWN = 20  # lines of a difference


def test_the_promises_of_every_verb_at_every_target_stay() -> None:
    _same("promises.txt", promises_text())


def test_the_sentences_stay() -> None:
    _same("sentences.txt", sentences_text())


@pytest.mark.parametrize("name", golden_names())
def test_the_report_of_a_golden_run_stays(golden_runs: Path, name: str) -> None:
    _same(name, golden_texts(golden_runs)[name])


def test_there_is_no_report_of_a_golden_run_that_is_no_more() -> None:
    assert set(golden_names()) == {f"golden/{path.name}" for path in HERE.glob("golden/*.json")}


def test_every_kind_of_cause_permits_something_somewhere() -> None:
    """One by which nothing is decided here could change unseen."""
    every = {(each.name, row.by.name) for each in ANOMALIES for row in each.promises if row.by}

    assert set() == every - deciding() - OF_OTHER_RECORDS


def _same(name: str, now: str) -> None:
    """Fails with the first lines that differ."""
    kept = (HERE / name).read_text()
    if kept != now:
        shown = islice(_differences(kept.splitlines(), now.splitlines()), SHOWN)
        pytest.fail(f"tests/baseline/{name} differs:\n" + "\n".join(shown), pytrace=False)


def _differences(kept: list[str], now: list[str]) -> Iterator[str]:
    """What is gone (-) and what is new (+), under the headings that it stands under."""
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, kept, now, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _headings(now, j1) if j1 < j2 else _headings(kept, i1)
            yield from (f"  - {line.strip()}" for line in kept[i1:i2])
            yield from (f"  + {line.strip()}" for line in now[j1:j2])


def _headings(lines: list[str], number: int) -> str:
    """`acks=1 > lost > permitted: …`: those before a line that are indented less and less."""
    found, indented = [], _indented(lines[number])
    for line in reversed(lines[:number]):
        if _indented(line) < indented:
            found.append(line.strip())
            indented = _indented(line)
    return " > ".join(reversed(found))


def _indented(line: str) -> int:
    return len(line) - len(line.lstrip())
