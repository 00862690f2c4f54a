"""Sealing makes no history worse: not one without its mark, not one with another run's mark."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.history.record_format import RECORD_SIZE, HistoryError
from harness.history.seal_record import read_seal
from harness.history.sealing import seal
from tests.support.recorded_runs import (
    KILL,
    record_sends,
    sealed_operations,
    sealed_rows,
    sealing_finds,
    spoil,
    write_side_file,
)


def mark(run: Path) -> Path:
    return run / "history/sealed.json"


def table(run: Path, name: str = "operations/p") -> Path:
    return run / f"history/{name}.parquet"


def segments(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "history").glob("*.seg"))


def sealed_with_segments(run: Path) -> None:
    """Killed between the mark and the removal of the segments."""
    record_sends(run, sends=9)
    kept = [shutil.copy(path, run) for path in (run / "history").glob("*.seg")]
    seal(run)
    for path in kept:
        shutil.move(path, run / "history")


# --- the mark says what each table was


def test_the_mark_has_every_table_with_its_rows_and_digest(run: Path) -> None:
    record_sends(run, sends=9)
    record_sends(run, "b", sends=5, ended=False)
    seal(run)
    sealed = read_seal(run / "history")

    assert sealed is not None
    assert sealed.version == 2
    assert {name: sealed.tables[name].rows for name in sorted(sealed.tables)} == {
        "blind.parquet": 0,
        "events.parquet": 1,
        "faults.parquet": 0,
        "findings.parquet": 1,
        "kept.parquet": 0,
        "operations/b.parquet": 5,
        "operations/p.parquet": 9,
        "views.parquet": 0,
        "watermarks.parquet": 0,
    }
    assert {each.sha256 for each in sealed.tables.values()} != {""}


# --- without its mark


def test_a_table_whose_segments_are_gone_is_kept_and_told(run: Path) -> None:
    """The mark was lost: nobody can say any more whether the table is whole."""
    record_sends(run, sends=9)
    seal(run)
    before = table(run).read_bytes()
    mark(run).unlink()

    assert sealing_finds(run) == [("p", "kept", 9)]
    assert table(run).read_bytes() == before


def test_what_was_found_earlier_is_not_forgotten(run: Path) -> None:
    """The torn slot was in a segment that is gone."""
    segment = record_sends(run, sends=2)
    spoil(segment, 3 * RECORD_SIZE + 4, b"\7\7")
    seal(run)
    mark(run).unlink()

    assert sorted(sealing_finds(run)) == [("p", "kept", 2), ("p", "torn", 1)]


def test_a_table_that_can_be_made_again_is_made_again(run: Path) -> None:
    """The twin: its segments are all there, as after a kill in the middle of sealing."""
    sealed_with_segments(run)
    mark(run).unlink()

    assert sealing_finds(run) == []
    assert len(sealed_operations(run)) == 9
    assert segments(run) == []


def test_a_table_with_more_rows_than_its_segments_is_kept(run: Path) -> None:
    """Some segments are gone: what is left tells less than the table."""
    sealed_with_segments(run)
    mark(run).unlink()
    (run / "history/p.0001.seg").unlink()

    assert ("p", "kept", 9) in sealing_finds(run)
    assert len(sealed_operations(run)) == 9
    assert segments(run) == ["p.0000.seg", "p.0002.seg"]


def test_a_damaged_table_is_moved_aside_for_the_one_made_again(run: Path) -> None:
    """It might be more than it seems; nobody reads it."""
    sealed_with_segments(run)
    mark(run).unlink()
    table(run).write_bytes(b"not ours")

    assert sealing_finds(run) == []
    assert len(sealed_operations(run)) == 9
    assert table(run).with_name("p.parquet.replaced").read_bytes() == b"not ours"


def test_a_second_one_moved_aside_leaves_the_first(run: Path) -> None:
    for words in (b"one", b"two"):
        sealed_with_segments(run)
        mark(run).unlink()
        (run / "history/p.jsonl").unlink()
        record_sends(run, "x" + words.decode(), sends=1)
        table(run).write_bytes(words)
        seal(run)
        mark(run).unlink()

    aside = table(run).parent.glob("p.parquet.replaced*")
    assert sorted(path.read_bytes() for path in aside) == [b"one", b"two"]


def test_a_small_table_whose_lines_are_gone_is_kept_and_told(run: Path) -> None:
    """Without them it would be empty: as if there had been no fault."""
    write_side_file(run, "nemesis", {"event": "inject", "type": "invoke", **KILL})
    seal(run)
    mark(run).unlink()
    (run / "history/nemesis.jsonl").unlink()

    assert sealing_finds(run) == [("faults", "kept", 1)]
    assert len(sealed_rows(run, "faults")) == 1


def test_a_small_table_with_its_lines_is_made_again(run: Path) -> None:
    """The twin."""
    write_side_file(run, "nemesis", {"event": "inject", "type": "invoke", **KILL})
    seal(run)
    mark(run).unlink()

    assert sealing_finds(run) == []
    assert len(sealed_rows(run, "faults")) == 1


def test_a_link_in_the_way_is_not_written_through(run: Path, tmp_path: Path) -> None:
    """What it points to is none of ours."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    record_sends(run, sends=1)
    (run / "history/operations").mkdir()
    for name in ("operations/p.parquet", "operations/.p.parquet", ".sealed.json", ".views.parquet"):
        (run / "history" / name).symlink_to(elsewhere)

    assert sealing_finds(run) == []
    assert elsewhere.read_text() == "mine"
    assert len(sealed_operations(run)) == 1


def test_a_worker_without_any_segment_is_a_finding(run: Path) -> None:
    """It had one from its first moment on."""
    record_sends(run, sends=3)
    (run / "history/p.0000.seg").unlink()

    assert sealing_finds(run) == [("p", "truncated-segment", 1)]


# --- with another run's mark, or one that belies the table


def test_another_runs_mark_is_refused_and_nothing_is_removed(run: Path) -> None:
    """These segments are the only copy."""
    record_sends(run, sends=9)
    foreign = {"run_id": "other/1", "processes": ["p"], "operations": 9, "findings": 0}
    mark(run).write_text(json.dumps(foreign))

    with pytest.raises(HistoryError, match=r"sealed.json: of run other/1, but run.json says study"):
        seal(run)
    assert len(segments(run)) == 3


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def _change_a_value(file: Path) -> None:
    """As many rows of this run, and all can be read."""
    content = pq.read_table(file)
    at = content.schema.get_field_index("value")
    values = pa.array([99, *content["value"].to_pylist()[1:]], pa.int64())
    pq.write_table(content.set_column(at, "value", values), file)


def _of_another_run(file: Path) -> None:
    content = pq.read_table(file)
    at = content.schema.get_field_index("run_id")
    other = content.set_column(at, "run_id", [["other/1"] * content.num_rows])
    pq.write_table(other, file)


SEEN_BY_COUNTS = [Path.unlink, _cut, _of_another_run]


@pytest.mark.parametrize(
    ("version", "damage"),
    [
        *((1, way) for way in SEEN_BY_COUNTS),
        *((2, way) for way in (*SEEN_BY_COUNTS, _change_a_value)),
    ],
)
def test_segments_stay_where_their_table_is_not_what_was_sealed(
    run: Path, version: int, damage: Callable[[Path], object]
) -> None:
    sealed_with_segments(run)
    if version == 1:
        _as_sealed_before(run)
    damage(table(run))
    seal(run)

    assert len(segments(run)) == 3


@pytest.mark.parametrize("version", [1, 2])
def test_segments_go_where_their_table_is_read_back_whole(run: Path, version: int) -> None:
    """The twin."""
    sealed_with_segments(run)
    if version == 1:
        _as_sealed_before(run)
    seal(run)

    assert segments(run) == []


def test_so_they_go_beside_a_table_of_a_worker_that_recorded_nothing(run: Path) -> None:
    record_sends(run, "silent", sends=0)
    sealed_with_segments(run)
    _as_sealed_before(run)
    seal(run)

    assert segments(run) == []


def test_segments_of_a_worker_that_was_not_sealed_stay(run: Path) -> None:
    record_sends(run, sends=1)
    seal(run)
    record_sends(run, "late", sends=1)
    seal(run)

    assert segments(run) == ["late.0000.seg"]


def _as_sealed_before(run: Path) -> None:
    """The mark as older harnesses wrote it."""
    said = json.loads(mark(run).read_text())
    del said["version"], said["tables"]
    mark(run).write_text(json.dumps(said))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"version": 99}', "[" * 100_000, "1" * 10_000]
)
def test_a_mark_that_says_nothing_is_refused(run: Path, text: str) -> None:
    record_sends(run, sends=1)
    mark(run).write_text(text)

    with pytest.raises(HistoryError, match=r"sealed.json: damaged"):
        seal(run)
    assert segments(run) == ["p.0000.seg"]
