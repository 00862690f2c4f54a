"""Damage is not loss: every file of a recorded run, spoiled in every way.

Whatever is done to a valid run, its check names the file or did not need it; it never raises
anything but one sentence, never calls the run valid where the file mattered, never convicts it, and
changes no file of the history. Those that leave different tables are checked in one Spark job.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analysis.report import page
from analysis.stored.run_files import CheckError
from analysis.stored.stored_run import Run, open_run
from harness.history.record_format import HistoryError
from harness.history.sealing import seal
from harness.model.runs.run_folder import RunFolder, StoreError
from tests.support.spoiled.files import contents, copy_of, files_of, flips, spoilings
from tests.support.story_runs import checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPOILED = "leader-stopped"
FOREIGN = "retries-leader-paused"
SEALED = "history/sealed.json"
# People read these; once the history is sealed, nobody else does.
FOR_PEOPLE = ".jsonl"
NO_ROWS = ("blind.parquet", "findings.parquet")  # in either run, so one is as good as the other

NO_FILES = tuple(
    f"{what}{how}"
    for what in ("a pipe", "a link to nowhere", "a link to itself")
    for how in ("", ", without digests")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One spoiled run as `kafka-harness check` takes it: read, sealed, opened."""

    file: str
    spoil: Callable[[Path], object]
    opened: Run | str  # the sentence with which it was refused
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]

    @property
    def left(self) -> tuple[object, ...]:
        """What Spark is given, and what else is judged: but for the run's name and for words."""
        run = self.opened
        if isinstance(run, str):
            return ()
        rows = (run.faults, run.ends, run.findings, run.views, run.blind, run.watermarks)
        own = tuple(
            tuple(sorted((key, str(value)) for key, value in row.items() if key != "run_id"))
            for row in itertools.chain(*rows)
        )
        damaged = tuple(each.file for each in run.damage)
        return (own, tuple(file.name for file in run.tables), run.operations, damaged)


def _cases(plain: Path, foreign: Path) -> Iterator[tuple[str, str, bool, Callable[[Path], object]]]:
    """The name of a case, its file, whether digests are sealed, and what is done to the file."""
    for file in files_of(plain):
        ways = dict(spoilings(foreign))
        if file.endswith(NO_ROWS):
            del ways["another run's"]
        if file.endswith(".parquet"):
            for how, spoil in ways.items():
                yield f"{file} {how}, without digests", file, False, spoil
        if file != "run.json":  # its fields have a test of their own
            ways |= dict(flips())
        for how, spoil in ways.items():
            yield f"{file} {how}", file, True, spoil
    for name in ("_x", ".x", "x", "producer-1", "a b", "*"):
        file = f"history/operations/{name}.parquet"
        for source in ("producer-0", "final-read-0"):
            yield f"{file} beside {source}", file, True, _beside(source)


def _beside(source: str) -> Callable[[Path], object]:
    return lambda file: shutil.copy(file.with_name(f"{source}.parquet"), file)


def _case(run: Path, file: str, spoil: Callable[[Path], object]) -> Case:
    spoil(run / file)
    before = contents(run)
    opened = _opened(run)
    return Case(file=file, spoil=spoil, opened=opened, before=before, after=contents(run))


def _opened(run: Path) -> Run | str:
    try:
        RunFolder(path=run).read()
        seal(run)
        return open_run(run)
    except (StoreError, HistoryError, CheckError) as error:
        return str(error)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """Every file, spoiled in every way."""
    folder = tmp_path_factory.mktemp("spoiled")
    plain = copy_of(SPOILED, folder / "plain", "spoiled/run")
    old = copy_of(SPOILED, folder / "old", "spoiled/run", digests=False)
    foreign = copy_of(FOREIGN, folder / "foreign", "spoiled/foreign")
    for worker in ("producer-0", "consumer-0"):
        for file in ("history/operations/{}.parquet", "history/{}.jsonl"):
            shutil.copy(foreign / file.format("write-read-0"), foreign / file.format(worker))
    return {
        name: _case(shutil.copytree(plain if digests else old, folder / str(n)), file, spoil)
        for n, (name, file, digests, spoil) in enumerate(_cases(plain, foreign))
    }


def test_what_is_refused_is_refused_in_one_sentence_that_names_the_file(cases) -> None:
    """Without run.json, or with a mark that says nothing, it cannot be known what this is; pipes,
    and links that lead nowhere, are not gone into at all."""
    refused = {name: case for name, case in cases.items() if isinstance(case.opened, str)}
    files = {name: case.file for name, case in refused.items() if not name.endswith(NO_FILES)}

    assert set(files.values()) == {"run.json", SEALED}
    for name, case in refused.items():
        named = Path(case.file).name in case.opened or "run.json" in case.opened
        assert (name, named, "\n" in case.opened) == (name, True, False)


def test_a_spoiled_table_is_named_and_nothing_else_is(cases) -> None:
    """Whatever was done to it: deleted, cut, a bit flipped, another run's, a folder, a link."""
    for name, case in cases.items():
        if isinstance(case.opened, str) or case.file == SEALED:
            continue
        matters = not case.file.endswith(FOR_PEOPLE)
        assert (name, [damage.file for damage in case.opened.damage]) == (
            name,
            [case.file] if matters else [],
        )


def test_a_run_whose_mark_is_gone_says_which_tables_nobody_vouches_for(cases) -> None:
    """Their segments are gone as well; what side files tell is made again."""
    case = cases[f"{SEALED} deleted"]

    assert {damage.file for damage in case.opened.suspect} == {
        f"history/operations/{worker}-0.parquet"
        for worker in ("consumer", "final-read", "producer")
    }


def test_no_spoiled_run_is_valid_or_convicted(
    spark: SparkSession, cases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of cases that leave the same to be judged, one is checked; all of them in one job."""
    monkeypatch.setattr(page, "render", lambda *_: "")  # megabytes a run, and nobody looks at it
    chosen = {case.left: case for case in cases.values() if case.left}
    runs = [
        copy_of(SPOILED, tmp_path / str(number), f"spoiled/{number}")
        for number in range(len(chosen))
    ]
    for case, run in zip(chosen.values(), runs, strict=True):
        case.spoil(run / case.file)
        seal(run)
    reports = checked(runs)

    assert 10 <= len(chosen) <= 40
    for case, report in zip(chosen.values(), reports, strict=True):
        valid = case.file.endswith(FOR_PEOPLE)
        assert (case.file, report["verdict"]) == (case.file, "valid" if valid else "unknown")
        if not valid:
            named = "" if case.file == SEALED else f"{case.file}: "  # or the table it belies
            assert any(named in reason for reason in report["reasons"])
            assert report["sentence"].startswith("It is not known whether data was lost")
            assert not any(each["convicts"] for each in report["anomalies"].values())


def test_no_file_of_the_history_is_changed(cases) -> None:
    """Where the mark was missing, what is made again stands beside what was there."""
    for name, case in cases.items():
        beside = {*case.after.values()} if name == f"{SEALED} deleted" else set()
        gone = [
            file
            for file, data in case.before.items()
            if case.after.get(file) != data and data not in beside
        ]
        assert (name, gone) == (name, [])
