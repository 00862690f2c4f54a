"""A run's files: which are whole, and what is said of those that are not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.stored.run_files import CheckError, tables_of
from analysis.stored.stored_run import open_run
from harness.history.stored_tables import digest
from tests.support.histories import (
    LOAD_MS,
    Part,
    client_error,
    fault,
    final_read,
    look,
    ns_of,
    replica,
    sent,
    story,
    view,
)
from tests.support.spoiled.files import flip
from tests.support.story_runs import write_story

PARTS = (sent(1, at=0), view("kafka1", ms=0), final_read(1), look(1, 1, 1, ms=10))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two operations, sealed by a harness that knew no digests."""
    folder = write_story(story(*PARTS), tmp_path / "run", "told/run")
    mark(folder)
    return folder


def mark(folder: Path, **changes: object) -> None:
    said = {"run_id": "told/run", "processes": ["final-read-0", "producer-0"]}
    text = json.dumps({**said, "operations": 2, "findings": 0, **changes})
    (folder / "history/sealed.json").write_text(text)


def told(run: Path) -> list[str]:
    """What is damaged, in the words of a reason."""
    return [f"{damage.file}: {damage.why}" for damage in open_run(run).damage]


def test_a_whole_run_has_no_damage(run: Path) -> None:
    opened = open_run(run)

    assert (opened.damage, opened.suspect, opened.operations) == ((), (), 2)
    assert opened.without_digests
    assert [file.name for file in opened.tables] == ["final-read-0.parquet", "producer-0.parquet"]


def test_a_run_that_was_never_marked_has_none_either(run: Path) -> None:
    """Its tables are judged by what is in them."""
    (run / "history/sealed.json").unlink()

    assert told(run) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"operations": 3},
            "history/operations: it holds 2 operations, and 3 were sealed",
        ),
        ({"findings": 1}, "history/findings.parquet: it has 0 rows, and 1 were sealed"),
        (
            {"processes": ["consumer-0", "final-read-0", "producer-0"]},
            "history/operations/consumer-0.parquet: missing",
        ),
        (
            {"processes": ["producer-0"], "operations": 1},
            "history/operations/final-read-0.parquet: it is not among the tables that were sealed",
        ),
        (
            {"run_id": "other/1"},
            "history/sealed.json: it is of run other/1, but run.json says told/run",
        ),
    ],
)
def test_what_the_mark_says_otherwise_is_damage(
    run: Path, changes: dict[str, object], words: str
) -> None:
    mark(run, **changes)

    assert told(run) == [words]


def test_a_mark_that_says_nothing_is_damage(run: Path) -> None:
    """Sealing refuses it; whoever opens the run all the same learns it too."""
    (run / "history/sealed.json").write_text("{")

    (damage,) = open_run(run).damage
    assert damage.file == "history/sealed.json"


@pytest.mark.parametrize("name", ["_x", ".x", "a b", "*"])
def test_a_file_that_readers_of_parquet_pass_over_is_damage(run: Path, name: str) -> None:
    """Spark would skip it, and nobody would know."""
    (run / "history/sealed.json").unlink()
    operations = run / "history/operations"
    shutil.copy(operations / "producer-0.parquet", operations / f"{name}.parquet")

    assert told(run) == [
        f"history/operations/{name}.parquet: no worker has this name, and readers of Parquet pass "
        "over it"
    ]


def test_what_is_no_table_at_all_is_nobodys_business(run: Path) -> None:
    """The twin."""
    (run / "history/operations/notes.txt").write_text("mine")

    assert told(run) == []


@pytest.mark.parametrize("table", ["views", "operations/producer-0"])
def test_a_digest_finds_what_counts_do_not(run: Path, table: str) -> None:
    """One byte that no reader minds: the name of the library in the footer."""
    seal_again(run)
    file = run / "history" / f"{table}.parquet"
    data = file.read_bytes()
    at = data.rindex(b"parquet-cpp")
    file.write_bytes(data[:at] + b"q" + data[at + 1 :])
    pq.read_table(file)

    assert told(run) == [
        f"history/{table}.parquet: it is not the table that was sealed: its SHA-256 is another"
    ]


def seal_again(run: Path) -> None:
    """Mark the run as sealing does today."""
    history = run / "history"
    tables = {
        str(file.relative_to(history)): {"rows": 0, "sha256": digest(file)}
        for file in history.rglob("*.parquet")
    }
    mark(run, version=2, tables=tables)


@pytest.mark.parametrize("table", ["views", "operations/producer-0"])
def test_a_mark_with_digests_has_one_of_each_table(run: Path, table: str) -> None:
    """Whoever takes it out could change the table, and nobody would know."""
    seal_again(run)
    file = run / "history/sealed.json"
    said = json.loads(file.read_text())
    del said["tables"][f"{table}.parquet"]
    file.write_text(json.dumps(said))

    assert told(run) == [
        f"history/{table}.parquet: sealed.json, which has the digest of each table, has none of it"
    ]


def test_a_mark_with_no_digest_at_all_vouches_for_nothing(run: Path) -> None:
    mark(run, version=2)

    assert len(told(run)) == 7  # all that this run is judged by


def test_tables_with_their_digests_are_whole(run: Path) -> None:
    """The twin."""
    seal_again(run)

    assert told(run) == []


@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.9, 0.999])
def test_a_flipped_bit_is_found_by_its_digest(run: Path, part: float) -> None:
    seal_again(run)
    flip(run / "history/operations/producer-0.parquet", part)

    (damage,) = open_run(run).damage
    assert (damage.file, damage.process) == ("history/operations/producer-0.parquet", "producer-0")


def test_a_text_that_is_none_is_damage(run: Path) -> None:
    """Without a digest, some byte of a page's dictionary: nothing that decodes it later raises."""
    file = run / "history/operations/final-read-0.parquet"
    whole = file.read_bytes()
    reasons = set()
    for at in range(4, 120):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1 :])
        reasons |= set(told(run))

    assert any("Invalid UTF8" in why for why in reasons), reasons


def test_a_damaged_worker_left_operations_all_the_same(run: Path) -> None:
    """It is not said of it that it recorded nothing."""
    (run / "history/operations/producer-0.parquet").write_bytes(b"")

    assert open_run(run).processes == {"final-read-0", "producer-0"}


def test_replicas_are_looked_at_only_where_they_were_followed(run: Path) -> None:
    """Where nobody followed them, nobody reads their table."""
    (run / "history/watermarks.parquet").unlink()
    assert told(run) == []

    followed = write_story(story(*PARTS, watched=True), run.parent / "other", "told/run")
    (followed / "history/watermarks.parquet").unlink()
    assert told(followed) == ["history/watermarks.parquet: missing"]


def test_what_older_harnesses_did_not_keep_is_not_missing(run: Path) -> None:
    """Where the seal knows of the table it is; and one that is there is read as any other."""

    def kept() -> list[str]:
        stored = tables_of(run, {"run_id": "told/run"})
        assert stored.small("kept") == ()
        return [f"{damage.file}: {damage.why}" for damage in stored.damage]

    assert kept() == []
    table = run / "history/kept.parquet"
    sealed = {"rows": 0, "sha256": digest(table), "kept": False}
    table.unlink()
    assert kept() == []
    mark(run, version=2, tables={"kept.parquet": sealed})
    assert kept() == ["history/kept.parquet: missing"]
    mark(run)
    table.write_text("no table")
    assert kept() == ["history/kept.parquet: cannot be read as Parquet (it begins otherwise)"]


def _file_at(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("")


@pytest.mark.parametrize("spoil", [shutil.rmtree, _file_at])
def test_a_run_without_operations_is_named(run: Path, spoil: Callable[[Path], object]) -> None:
    spoil(run / "history/operations")
    first = open_run(run).damage[0]

    assert (first.file, first.process) == ("history/operations", None)


def test_a_run_without_a_history_cannot_be_judged(run: Path) -> None:
    shutil.rmtree(run / "history")

    with pytest.raises(CheckError, match="history: missing, or no folder"):
        open_run(run)


def test_a_run_without_a_name_cannot_be_judged(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "run_id": ""}))

    with pytest.raises(CheckError, match=r"run\.json: run_id is empty: restore the file"):
        open_run(run)


def test_of_the_events_those_of_dumps_and_of_the_final_read_are_kept_apart(tmp_path: Path) -> None:
    opened = open_run(write_story(story(*PARTS, replica(1, 1)), tmp_path / "run", "told/run"))

    assert [dump["event"] for dump in opened.dumps] == ["dumped"]
    assert [end["event"] for end in opened.ends] == ["ends"]


def test_the_clients_errors_are_counted(tmp_path: Path) -> None:
    parts = (*PARTS, client_error(), client_error("_TRANSPORT"))
    run = write_story(story(*parts), tmp_path / "run", "told/run")

    assert open_run(run).worker_errors == 2


# --- what faults saw


def test_views_that_lack_what_a_fault_saw_are_damage(tmp_path: Path) -> None:
    run = write_story(story(*PARTS, seeing("kafka2")), tmp_path / "run", "told/run")
    opened = open_run(run)

    assert told(run) == [
        "history/views.parquet: fault 0 (kill leader) saw kafka2 lead partition 0, and no view of "
        "that time does"
    ]
    assert opened.views == ()


def test_views_that_show_it_are_whole(tmp_path: Path) -> None:
    """The twin."""
    run = write_story(story(*PARTS, seeing("kafka1")), tmp_path / "run", "told/run")

    assert told(run) == []


def seeing(leader: str) -> Part:
    kill = fault(ms=1)
    view = json.dumps({"leader": {"0": leader}, "known": True})
    return replace(kill, rows=({**kill.rows[0], "before": view},))


@pytest.mark.parametrize("text", ['{"x": NaN}', '{"x": "\\ud800"}', "[1]", "[" * 100_000, "{"])
def test_a_fault_with_a_view_that_is_no_json_object_is_damage(tmp_path: Path, text: str) -> None:
    """What it says goes into the report, which is JSON."""
    kill = fault(ms=1)
    odd = replace(kill, rows=({**kill.rows[0], "before": text},))
    run = write_story(story(*PARTS, odd), tmp_path / "run", "told/run")

    assert told(run) == ["history/faults.parquet: row 0: before is no JSON object"]


def phases(from_ms: float, to_ms: float, last: str = "collect") -> list[dict[str, object]]:
    """The phases of a run, and its load in the middle."""
    times = [from_ms, 0, LOAD_MS, to_ms]
    return [
        {"name": name, "start_ns": ns_of(begin), "end_ns": ns_of(end)}
        for name, begin, end in zip(("set-up", "load", last), times, times[1:], strict=False)
    ]


AT_ALL_TIMES = (*PARTS, fault(ms=5), view("kafka1", ms=LOAD_MS + 5000))


@pytest.mark.parametrize(
    ("record", "files"),
    [
        ({"phases": phases(-2000, LOAD_MS + 6000)}, ()),
        ({"phases": phases(-2000, LOAD_MS + 4500)}, ()),  # a second later, at most
        ({"phases": phases(-2000, LOAD_MS + 3500)}, ("views",)),
        ({"phases": phases(-2000, LOAD_MS)[:2]}, ()),  # the run went on
        ({"phases": phases(-2000, LOAD_MS, last="final-read")}, ()),
        ({"phases": phases(-2000, LOAD_MS), "state": "incomplete"}, ()),
        ({"phases": phases(-2000, LOAD_MS)[1:]}, ()),
        ({"phases": []}, ()),
    ],
)
def test_tables_of_another_time_than_the_run_s_phases_are_damage(
    tmp_path: Path, record: dict[str, Any], files: tuple[str, ...]
) -> None:
    """Of a run that did not end in order nobody knows when its last lines were written."""
    run = write_story(story(*AT_ALL_TIMES, **record), tmp_path / "run", "told/run")

    assert [damage.file for damage in open_run(run).damage] == [
        f"history/{file}.parquet" for file in files
    ]


def test_all_tables_of_an_earlier_run_are(tmp_path: Path) -> None:
    """Its history lies in the folder of a run that began ten minutes later."""
    later = [
        {**phase, "start_ns": ns_of(600_000 + n), "end_ns": ns_of(600_001 + n)}
        for n, phase in enumerate(phases(0, 0))
    ]
    run = write_story(story(*AT_ALL_TIMES, phases=later), tmp_path / "run", "told/run")

    words = "of another time than run.json's phases"
    assert [(each.file.split("/")[-1], words in each.why) for each in open_run(run).damage] == [
        ("faults.parquet", True),
        ("final-read-0.parquet", True),
        ("load-0.parquet", True),
        ("producer-0.parquet", True),
        ("events.parquet", True),
        ("views.parquet", True),
    ]
