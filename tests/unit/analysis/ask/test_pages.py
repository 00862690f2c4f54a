"""docs/queries.md says what the views are and what the questions' answers are; docs/notebook.md
runs as it stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from analysis.ask.asked import Asked
from analysis.ask.views import VIEWS
from harness.checkout import DOCS, ROOT
from harness.commands.look_at.sql import sql
from scripts import query_page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE, NOTEBOOK = DOCS / "queries.md", DOCS / "notebook.md"


def test_the_answers_are_those_of_now(spark: SparkSession) -> None:
    """`python -m scripts.query_page` writes them again."""
    page = PAGE.read_text()

    assert len(query_page.queries(page)) == 10
    assert page.count("```text") == 10
    assert page == query_page.answered(page)


def test_another_answer_is_seen(spark: SparkSession) -> None:
    page = PAGE.read_text().replace("22.647", "22.648")

    assert page != query_page.answered(page)


def test_the_page_has_every_view_with_its_columns(spark: SparkSession) -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)

    with Asked([ROOT / query_page.SAMPLE]) as asked:
        made = {name: asked.view(name).columns for name in VIEWS}
    assert {name: columns.split(", ") for name, columns in rows} == made


def test_the_help_has_every_view() -> None:
    told = re.findall(r"^    (\w+)  +\S", sql.__doc__ or "", re.MULTILINE)

    assert told == list(VIEWS)


def test_the_notebook_draws_three_plots(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", NOTEBOOK.read_text(), re.DOTALL)
    monkeypatch.chdir(ROOT)
    known: dict[str, Any] = {}

    for block in blocks:
        exec(compile(block, str(NOTEBOOK), "exec"), known)
    known["runs"].close()

    for name, points in (("acks", 10_000), ("leaders", 12), ("losses", 7)):
        figure = known[name]
        assert points == sum(len(trace.x) for trace in figure.data), name
    assert len(known["acks"].layout.shapes) == 10
