"""A screened history shows what the whole one shows: random histories of every anomaly, both ways.

Each is screened, and Spark is asked twice: all of it, and what the screens have left. Rows of
evidence, windows and landings must be the same, and so must the odd steps. A history that is not
plain is left to Spark, so it proves nothing here: most must be plain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from analysis.anomalies import BY_NAME
from analysis.frames.by_driver.evidence import evidence
from analysis.frames.by_driver.found import COLUMNS
from analysis.frames.history import History, runs_frame
from analysis.frames.left import Left
from analysis.frames.schema import OPERATIONS, TRANSACTIONS, arrow
from analysis.frames.signs import Sign
from analysis.frames.steps import STEPS
from analysis.measures.by_driver.batches import NotPlain, batches
from analysis.measures.by_driver.landings import Landings
from analysis.measures.by_driver.windows import Windows
from analysis.queries import Queries
from analysis.screens import reduced
from analysis.screens.screened import Screened, screen
from tests.support.oracles.operations import OUTCOMES, Case, oracle
from tests.support.random_histories.any_rows import chaos
from tests.support.random_histories.cases import facts_of, files_of, note_rows
from tests.support.random_histories.drawing import drawn
from tests.support.random_histories.plants import planted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
LANDED = (
    *("indeterminate_landed", "indeterminate_not_landed", "acked_below_log_start"),
    *("unacknowledged_lost", "lost_past_log_end", "kept_past_log_end"),
)
FEW = 4  # of 800
# Circles are looked for in whole tables, both ways; stable offsets are drawn beside a history.
NOT_COUNTED = {"circular-flow", "stable-back"}
NOTHING = {**dict.fromkeys(LANDED, 0), "latency_ms": None}  # where no value was sent or read


class Both:
    """Histories, screened and asked both ways."""

    def __init__(self, spark: SparkSession, cases: Sequence[Case], folder: Path) -> None:
        self.screened: dict[int, Screened] = {}
        self.facts: dict[int, Row] = {}
        self.files: dict[int, list[Path]] = {}
        self.cases = dict(enumerate(cases))
        for number, case in self.cases.items():
            files, facts = files_of(case, number, folder), facts_of(case, number)
            notes = [
                (row["process"], row["transaction"], row["name"], row["time_ns"])
                for row in note_rows([case])
            ]
            try:
                told = screen(files, facts, len(case.rows), notes=notes)
            except NotPlain:
                continue
            self.screened[number], self.facts[number] = told, facts
            self.files[number] = files
        self.whole = self._history(spark, folder)
        self.left = self._left(spark, folder)

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
            rows=told.num_rows,
            signs=signs,
            steps=lambda: steps,
            facts={str(n): facts for n, facts in self.facts.items()},
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


def told_by_driver(queries: Queries, facts: dict[int, Row]) -> Counter[Any]:
    """The same of evidence of what was found, as a check of screened runs makes it."""
    found = queries.found()
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
def histories(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Both]:
    """By how they were drawn."""
    return {
        name: Both(spark, drawn(strategy), tmp_path_factory.mktemp(name))
        for name, strategy in {"chaos": chaos, "planted": planted}.items()
    }


@pytest.fixture(params=["chaos", "planted"])
def both(request: pytest.FixtureRequest, histories: dict[str, Both]) -> Both:
    """Those of one sort."""
    return histories[request.param]


def test_most_are_plain(both: Both) -> None:
    assert len(both.screened) > len(both.cases) / 2


def test_each_anomaly_that_is_screened_is_in_some(histories: dict[str, Both]) -> None:
    """What is never there would be screened rightly by chance."""
    seen: Counter[str] = Counter()
    for both in histories.values():
        for number in both.screened:
            seen.update({OUTCOMES.get(each, each) for each in oracle(both.cases[number])})

    screened = {each.name for each in BY_NAME.values() if each.signs is not None}
    assert {name: seen[name] for name in screened - NOT_COUNTED if seen[name] < FEW} == {}


def test_suspects_show_what_everything_shows(both: Both) -> None:
    whole, few = Queries(both.whole), Queries(both.whole, left=both.left)
    rows, left = counted(whole.evidence()), told_by_driver(few, both.facts)
    whole.forget()
    few.forget()

    if rows != left:
        both.fail_with("evidence", rows, left)


def test_where_no_sign_was_seen_there_is_nothing(both: Both) -> None:
    for number, screened in both.screened.items():
        case = both.cases[number]
        for name in {name for name, values in oracle(case).items() if +values} & BY_NAME.keys():
            told = (name, case.rows, case.ends, screened.signs)
            assert BY_NAME[name].tables(screened.signs), told


def test_fates_give_the_windows_and_landings_of_all(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reduced, "ROWS", 5)  # so that suspects are told in many parts
    queries = Queries(both.whole)
    windows, landings = counted(queries.windows()), queries.landings().collect()
    queries.forget()
    landed = {row["run_id"]: {**row.asDict()} for row in landings}
    told: Counter[Any] = Counter()
    for number, screened in both.screened.items():
        facts, run_id = both.facts[number], str(number)
        seen, counts = Windows(facts), Landings(facts)
        for file in both.files[number]:
            for batch in batches(file, run_id):
                seen.see(batch)
        fates = list(screened.fates())
        for each in fates:
            counts.see(each)
        rows = [{"run_id": run_id, **row} for row in seen.rows(fates)]
        told.update((run_id, str(sorted(row.items()))) for row in rows)
        known = {"run_id": run_id, **NOTHING}
        want = {
            name: known[name] if n is None else n
            for name, n in (landed.get(run_id) or known).items()
        }
        assert {**known, **counts.row()} == want, (both.cases[number].rows, facts)

    if windows != told:
        both.fail_with("windows", windows, told)
