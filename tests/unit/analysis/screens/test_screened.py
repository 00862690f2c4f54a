"""A screened history shows what the whole one shows: random histories of every anomaly, both ways.

Each is screened, and Spark is asked twice: all of it, and what the screens have left. Rows of
evidence must be the same. What the fates of a screen say of windows and landings is held against
Spark's windows and the fates of all operations. A history that cannot be screened proves nothing
here: most must be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from analysis.anomalies import ANOMALIES, BY_NAME
from analysis.checks.rules import Rules
from analysis.checks.unavailability import windows
from analysis.evidence.evidence import evidence
from analysis.evidence.found_rows import COLUMNS
from analysis.frames.history import History, runs_frame
from analysis.frames.left import Left
from analysis.frames.schema import OPERATIONS, TRANSACTIONS, arrow
from analysis.frames.signs import Sign
from analysis.frames.steps import STEPS
from analysis.measures import fates as measured_fates
from analysis.measures.consumer_lag import Reached
from analysis.measures.fates import Fates, fates_of_files
from analysis.measures.latency_and_rates import Landings, Redeliveries
from analysis.measures.windows import Windows
from analysis.screens.log import CannotScreen
from analysis.screens.screened import Screened, screen
from analysis.stored.batches import batches
from tests.support.oracles.operations import OUTCOMES, Case, oracle, redeliveries
from tests.support.random_histories.any_rows import chaos
from tests.support.random_histories.cases import facts_of, files_of, note_rows
from tests.support.random_histories.drawing import drawn
from tests.support.random_histories.plants import planted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
FEW = 4  # of 800
# Cycles are looked for in whole tables, both ways; stable offsets are drawn beside a history.
NOT_COUNTED = {"circular-flow", "stable-back"}
# Screened in histories of programs alone: test_programs_oracle.py.
OF_PROGRAMS = {"no-output", "two-outputs", "strange-output", "not-passed"}


class Both:
    """Histories, screened and asked both ways."""

    def __init__(self, spark: SparkSession, cases: Sequence[Case], folder: Path) -> None:
        self.screened: dict[int, Screened] = {}
        self.facts: dict[int, Any] = {}
        self.files: dict[int, list[Path]] = {}
        self.cases = dict(enumerate(cases))
        for number, case in self.cases.items():
            files = files_of(case, number, folder)
            facts: Any = facts_of(case, number)
            notes = [
                (row["process"], row["transaction"], row["name"], row["time_ns"])
                for row in note_rows([case])
            ]
            try:
                told = screen(files, facts, len(case.rows), notes=notes)
            except CannotScreen:
                continue
            self.screened[number], self.facts[number] = told, facts
            self.files[number] = files
        self.whole = self._history(spark, folder)
        self.left = self._left(spark, folder)
        self.rules = Rules(self.whole, ANOMALIES)

    def _history(self, spark: SparkSession, folder: Path) -> History:
        told = [pq.read_table(file) for files in self.files.values() for file in files]
        operations = folder / "operations.parquet"  # Spark takes longer to open a file than to read
        pq.write_table(pa.concat_tables(told), operations)
        notes = [
            {**row, "run_id": str(n)} for n in self.screened for row in note_rows([self.cases[n]])
        ]
        file = folder / "events.parquet"
        pq.write_table(pa.Table.from_pylist(notes, schema=arrow(TRANSACTIONS)), file)
        return History(
            operations=spark.read.schema(OPERATIONS).parquet(str(operations)),
            runs=runs_frame(spark, list(self.facts.values())),
            groups=True,
            outdated=True,
            replicas=True,
            transactions=spark.read.schema(TRANSACTIONS).parquet(str(file)),
        )

    def _left(self, spark: SparkSession, folder: Path) -> Left:
        from dataclasses import replace  # noqa: PLC0415

        told = pa.concat_tables([each.suspects for each in self.screened.values()])
        pq.write_table(told, folder / "suspects.parquet")
        rows = [
            {"run_id": str(n), **row} for n, each in self.screened.items() for row in each.steps
        ]
        few = spark.read.schema(OPERATIONS).parquet(str(folder / "suspects.parquet"))
        odd = folder / "steps.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=arrow(STEPS)), odd)
        steps = spark.read.schema(STEPS).parquet(str(odd))
        signs = frozenset().union(*(each.signs for each in self.screened.values()))
        contested = not signs.isdisjoint((Sign.CONTESTED, Sign.GARBLED))
        return Left(
            history=replace(self.whole, operations=few, contested=contested),
            signs=signs,
            steps=lambda: steps,
        )

    def fail_with(self, what: str, differing: Counter[Any], other: Counter[Any]) -> None:
        """Fail with the smallest history that differs."""
        runs = {key[0] for key in (differing - other) + (other - differing)}
        number = min(map(int, runs), key=lambda n: len(self.cases[n].rows))
        mine = [
            Counter({k: v for k, v in each.items() if k[0] == str(number)})
            for each in (differing, other)
        ]
        rows = "\n".join(map(str, self.cases[number].rows))
        pytest.fail(
            f"{what}: {len(runs)} differ; whole {mine[0] - mine[1]}\nscreened {mine[1] - mine[0]}\n"
            f"{self.screened[number].signs}\n{self.cases[number].ends}\n{rows}"
        )


def counted(answer: DataFrame | None) -> Counter[Any]:
    """Rows as texts, by run."""
    assert answer is not None
    return Counter((row["run_id"], str(sorted_row(row))) for row in answer.collect())


def sorted_row(row: Any) -> list[tuple[str, Any]]:
    return sorted((name, value) for name, value in row.asDict(recursive=True).items())


def told_by_driver(rules: Rules, facts: dict[int, Any]) -> Counter[Any]:
    """The same of evidence of what was found, as a check of screened runs makes it."""
    found = rules.found()
    assert found is not None
    rows = found.select(*COLUMNS).toArrow()
    return Counter(
        (run_id, str(sorted(row.items())))
        for run_id in pc.unique(rows["run_id"]).to_pylist()
        for row in evidence(
            rows.filter(pc.equal(rows["run_id"], run_id)), facts[int(run_id)]
        ).to_pylist()
    )


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Any operations at all, and after them histories with planted anomalies: Spark plans for
    longer than it computes, so it is asked about all of them at once."""
    made = Both(spark, [*drawn(chaos), *drawn(planted)], tmp_path_factory.mktemp("both"))
    yield made
    made.rules.forget()


def test_most_of_each_sort_are_screened(both: Both) -> None:
    first = len(drawn(chaos))
    any_rows = sum(number < first for number in both.screened)

    assert any_rows > first / 2
    assert len(both.screened) - any_rows > len(drawn(planted)) / 2


def test_each_anomaly_that_is_screened_is_in_some(both: Both) -> None:
    """What is never there would be screened rightly by chance."""
    seen: Counter[str] = Counter()
    for number in both.screened:
        seen.update({OUTCOMES.get(each, each) for each in oracle(both.cases[number])})

    screened = {each.name for each in BY_NAME.values() if each.signs is not None}
    here = screened - NOT_COUNTED - OF_PROGRAMS
    assert {name: seen[name] for name in here if seen[name] < FEW} == {}


def test_suspects_show_what_everything_shows(both: Both) -> None:
    few = Rules(both.whole, ANOMALIES, both.left)
    rows, left = counted(both.rules.evidence()), told_by_driver(few, both.facts)
    few.forget()

    if rows != left:
        both.fail_with("evidence", rows, left)


def test_where_no_sign_was_seen_there_is_nothing(both: Both) -> None:
    for number, screened in both.screened.items():
        case = both.cases[number]
        for name in {name for name, values in oracle(case).items() if +values} & BY_NAME.keys():
            told = (name, case.rows, case.ends, screened.signs)
            assert BY_NAME[name].tables(screened.signs), told


def test_fates_give_the_windows_of_spark_and_those_of_all_operations_the_same(
    both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured_fates, "ROWS", 5)  # so that values are told in many parts
    monkeypatch.setattr(measured_fates, "MOST", 9)
    by_spark = counted(windows(both.whole, both.rules.fates))
    told: Counter[Any] = Counter()
    for number, screened in both.screened.items():
        facts, files, rows = both.facts[number], both.files[number], both.cases[number].rows
        found, landed = measured_of(files, facts, screened.fates())
        of_all = fates_of_files(files, facts, len(rows), tmp_path)
        assert (found, landed) == measured_of(files, facts, of_all), (rows, facts)
        told.update((str(number), row) for row in found)

    if by_spark != told:
        both.fail_with("windows", by_spark, told)


def measured_of(
    files: Sequence[Path], facts: Any, fates: Iterable[Fates]
) -> tuple[Counter[str], Row]:
    """Windows, and landings without what is 0: where no value was sent or read there is no row."""
    windows, reached = Windows(facts), Reached(facts)
    landings = Landings(facts, reached.past)
    for file in files:
        for batch in batches(file):
            windows.see(batch)
            reached.see(batch)
    known = list(fates)
    for each in known:
        landings.see(each)
    rows = ({"run_id": facts["run_id"], **row} for row in windows.rows(known))
    landed = {name: n for name, n in landings.row().items() if n}
    return Counter(str(sorted(row.items())) for row in rows), landed


def test_redeliveries_are_those_of_the_oracle(both: Both) -> None:
    for number, files in both.files.items():
        rows = both.cases[number].rows
        seen = Redeliveries(len(rows))
        for file in files:
            for batch in batches(file):
                seen.see(batch)
        assert seen.row().get("redeliveries", 0) == redeliveries(rows), rows
