"""What `kafka-harness sql` prints of sends and reads is what a check of tables takes."""

from __future__ import annotations

import io

from rich.console import Console

from analysis.tables.findings import configuration_from_json
from analysis.tables.job import findings_of
from analysis.tables.validation import valid_tables
from harness.checkout import ROOT
from harness.commands.look_at.sql import Question, answer
from harness.commands.tables.write_job import known
from harness.foreign.about import About
from tests.support.two_tables import found_counts


def test_a_recorded_run_s_views_have_its_findings(spark, tmp_path, capsys):
    run = str(ROOT / "tests" / "golden" / "acks-1-leader-killed")
    files = []
    for view in ("sends", "reads"):
        query = f"select * from {view}"
        question = Question(query=query, runs=[run], results=tmp_path, form="csv", limit=0)
        answer(question, Console(file=io.StringIO()))
        files.append(tmp_path / f"{view}.csv")
        files[-1].write_text(capsys.readouterr().out)

    tables = valid_tables(spark, *map(str, files))
    found = findings_of(tables, configuration_from_json(known(About())), complete=False)

    assert {"lost": 4, "inconsistent-offset": 4} == found_counts(found)
    assert tables.has_begins
