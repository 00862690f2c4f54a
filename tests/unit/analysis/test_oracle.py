"""The checks against a second opinion: an oracle in plain Python, on random histories.

*Chaos* is any mixture of operations, possible or not: oracle and checks must agree on all of it.
*Planted* histories are what a faultless Kafka would leave, plus anomalies put there on purpose:
exactly those must be found. Hypothesis draws all histories first, one Spark job checks them
together; there is no shrinking (a step would be a job), the smallest that differs is shown instead.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.anomalies import ANOMALIES
from analysis.checks import duplicates, loss, phantoms
from analysis.checks.groups import handling
from analysis.checks.replicas import divergence
from analysis.checks.rules import Rules
from analysis.checks.unavailability import windows
from analysis.frames.evidence import Tables, rows
from analysis.frames.history import History, runs_frame
from analysis.frames.operations import OFFSET_BITS
from analysis.frames.schema import OPERATIONS, TRANSACTIONS, arrow
from tests.support import story_runs
from tests.support.histories import LOAD_START_NS
from tests.support.oracles.operations import MS, Case, Found, oracle
from tests.support.random_histories.any_rows import chaos
from tests.support.random_histories.cases import note_rows, run_row, sealed_rows
from tests.support.random_histories.drawing import drawn
from tests.support.random_histories.plants import planted
from tests.support.random_histories.transformed import transformed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


DETAILS = {
    "windows",
    "victims",
    "diverged victims",
    "given apart",
    "instead",
    "failed with",
    "given up",
}
# What follows from what was planted: records that are not there, or that a consumer is not given.
COMMITS = {"commit-back", "zombie-commit"}
STEPS = {"poll-skip", "poll-back", "epoch-back", "hole"}


def checked(spark: SparkSession, cases: Sequence[Case], folder: Path) -> list[Found]:
    """What the checks find in each case, from one Spark job, in the oracle's words."""
    file = folder / "operations.parquet"
    story_runs.write_rows(file, sealed_rows(cases))
    runs = runs_frame(spark, [run_row(case, n) for n, case in enumerate(cases)])
    operations = spark.read.schema(OPERATIONS).parquet(str(file))
    notes = spark.read.schema(TRANSACTIONS).parquet(str(_notes(cases, folder)))
    history = History(
        operations=operations,
        runs=runs,
        groups=True,
        transforms=True,
        outdated=True,
        replicas=True,
        transactions=notes,
    )
    asked = Rules(history, ANOMALIES)
    found: list[Found] = [defaultdict(Counter) for _ in cases]
    found_rows = asked.evidence()
    assert found_rows is not None
    for row in found_rows.collect():
        found[int(row["run_id"])][_name(row)][_key(row)] += 1
    for row in windows(history, asked.fates).collect():
        times = [_ms(row[name]) for name in ("start_ns", "end_ns", "next_success_ns")]
        key = (row["kind"], row["partition"], *times, row["attempts"])
        found[int(row["run_id"])]["windows"][key] += 1
    for row in _rows(asked.tables):
        for name, key in _details(row):
            found[int(row["run_id"])][name][key] += 1
    asked.forget()
    return [{name: +each for name, each in one.items() if +each} for one in found]


def _rows(tables: Tables) -> Iterator[Any]:
    """The rows of which more is told than evidence has."""
    for anomaly in (
        loss.LOST,
        duplicates.INCONSISTENT_OFFSET,
        divergence.DIVERGED,
        phantoms.PHANTOM,
        handling.SKIPPED,
    ):
        for table, rule in anomaly.rules.items():
            made = table(tables)
            assert made is not None
            yield from rows(made, {anomaly.name: rule()}).collect()


def _details(row: Any) -> Iterator[tuple[str, Any]]:
    """What is told to whoever judges the row."""
    place = None if row["place"] is None else divmod(row["place"], 1 << OFFSET_BITS)
    victims = "given apart" if row["outcome"] == "read_elsewhere" else "victims"
    victims = "diverged victims" if row["anomaly"] == "diverged" else victims
    for sent_ns, known_ns, delivered in row["victims"] or ():
        yield victims, (place, _ms(sent_ns), _ms(known_ns), delivered)
    if row["anomaly"] == "lost" and row["other_value"] is not None:
        yield "instead", (row["value"], row["other_value"])
    if row["anomaly"] == "phantom" and row["outcome"] != "unparsable":
        yield "failed with", (row["value"], row["fail_error"])
    if row["anomaly"] == "skipped":
        at = (row["polled_by"], row["polled_partition"], row["polled_offset"])
        yield "given up", (row["value"], _ms(row["polled_ns"]), *at, _ms(row["passed_ns"]))


def _name(row: Any) -> str:
    if row["anomaly"] in ("duplicate", "inconsistent-offset", "diverged"):
        return str(row["outcome"]).replace("two_values", "two values")
    return "unparsable" if row["outcome"] == "unparsable" else str(row["anomaly"])


def _key(row: Any) -> Any:
    here = (row["partition"], row["offset"])
    if row["anomaly"] in STEPS:
        return (*here, row["other_offset"], row["outcome"], row["reader"], row["value"])
    if row["anomaly"] in COMMITS:
        return (*here, row["other_offset"], row["reader"])
    if row["anomaly"] == "two-outputs":
        return (row["value"], *here)
    by_place = row["anomaly"] == "corrupt" or row["outcome"] in (
        "unparsable",
        "two_values",
        "differs",
        "lacks",
    )
    return here if by_place else row["value"]


def _ms(time_ns: int | None) -> int | None:
    return None if time_ns is None else (time_ns - LOAD_START_NS) // MS


def _notes(cases: Sequence[Case], folder: Path) -> Path:
    file = folder / "events.parquet"
    pq.write_table(pa.Table.from_pylist(note_rows(cases), schema=arrow(TRANSACTIONS)), file)
    return file


def compare(cases: Sequence[Case], found: Sequence[Found], expected: Sequence[Found]) -> None:
    """Fails with the smallest case in which the two differ."""
    differ = [
        (case, got, want)
        for case, got, want in zip(cases, found, expected, strict=True)
        if got != want
    ]
    if differ:
        case, got, want = min(differ, key=lambda each: len(each[0].rows))
        told = "\n".join(map(str, case.rows))
        pytest.fail(f"{len(differ)} differ; found {got}\nexpected {want}\n{case.ends}\n{told}")


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    """Of all histories, those with planted anomalies last: Spark plans for longer than it computes,
    so it is asked about all of them at once."""
    cases = [*drawn(chaos), *drawn(transformed), *drawn(planted)]
    return checked(spark, cases, tmp_path_factory.mktemp("oracle"))


def test_checks_and_oracle_agree_on_anything(found: list[Found]) -> None:
    """Whatever the operations are, sensible or not, and whatever transformers made."""
    cases = [*drawn(chaos), *drawn(transformed)]

    compare(cases, found[: len(cases)], [oracle(case) for case in cases])


def test_exactly_what_was_planted_is_found(found: list[Found]) -> None:
    """Nothing of it is missed, and nothing else is called an anomaly."""
    cases = drawn(planted)
    of_planted = found[-len(cases) :]
    anomalies = [{n: c for n, c in each.items() if n not in DETAILS | STEPS} for each in of_planted]

    compare(cases, anomalies, [case.planted or {} for case in cases])
    compare(cases, of_planted, [oracle(case) for case in cases])
