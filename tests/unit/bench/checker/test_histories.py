"""Made-up histories: as a recorder leaves them, with offsets that a log can give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from analysis.stored.stored_run import open_run
from bench.checker import histories
from bench.checker.histories import SHAPES, load_of
from bench.checker.made.cycles import DIES_NS, LEADS_NS, PARTITIONS, PRODUCERS, S
from harness.history import tables

OPERATIONS = 20_000


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return {shape: histories.write(folder / shape, OPERATIONS, shape) for shape in SHAPES}


def rows(made, **wanted):
    table = ds.dataset(made.folder / "history/operations", format="parquet").to_table()
    for column, value in wanted.items():
        table = table.filter(pc.equal(table[column], value))
    return table


@pytest.mark.parametrize("shape", SHAPES)
def test_a_history_is_whole_as_it_was_sealed(folders, shape):
    run = open_run(folders[shape].folder)

    assert run.damage == ()
    assert run.operations == folders[shape].operations
    assert abs(run.operations - OPERATIONS) < OPERATIONS / 10
    assert run.history_format == 2


def test_it_has_every_column_groups_and_transactions(folders):
    table = rows(folders["clean"])

    assert table.schema.equals(tables.schema(tables.OPERATION_COLUMNS))
    assert set(pc.unique(table["partition"]).to_pylist()) == set(range(PARTITIONS))
    sent = set(pc.unique(table["f"]).to_pylist())
    assert sent == {"send", "read", "poll", "process", "commit", "committed", "final-read"}
    producers = pc.unique(rows(folders["clean"], f="send")["process"]).to_pylist()
    assert len(producers) == PRODUCERS
    assert rows(folders["clean"], f="send")["transaction"].null_count == 0
    run = open_run(folders["clean"].folder)
    assert run.grouped
    assert run.tells_transactions
    assert {event["name"] for event in run.events if event["event"] == "transaction"} == {
        *("begun", "commit-asked", "abort-asked", "committed", "aborted", "unknown")
    }


def test_nobody_is_answered_while_nobody_leads(folders):
    run = open_run(folders["clean"].folder)
    ended = np.sort(rows(folders["clean"], f="send", type="ok")["end_ns"].to_numpy())

    assert len(run.faults) == load_of(OPERATIONS, "clean").cycles
    for fault in run.faults:
        dies_ns, leads_ns = fault["invoke_ns"], fault["heal_ok_ns"]
        assert leads_ns is not None
        assert leads_ns - dies_ns == LEADS_NS - DIES_NS
        assert not ((ended > dies_ns) & (ended < leads_ns)).any()
    assert np.diff(ended).max() > 5 * S


@pytest.mark.parametrize("shape", ["clean", "tail-lost", "scattered-lost"])
def test_no_offset_is_given_twice_where_no_log_was_cut(folders, shape):
    acked = rows(folders[shape], f="send", type="ok")
    places = acked["partition"].to_numpy().astype(np.int64) << 48 | acked["offset"].to_numpy()

    assert len(np.unique(places)) == len(places)


def test_a_lost_records_offset_is_given_to_a_later_record_of_a_later_leader(folders):
    acked = rows(folders["planted"], f="send", type="ok").sort_by("start_ns")
    epochs = rows(folders["planted"], f="final-read")
    epoch_of = dict(zip(epochs["value"].to_pylist(), epochs["epoch"].to_pylist(), strict=True))
    claims: dict[tuple[int, int], list[int]] = {}
    for row in acked.select(["partition", "offset", "value"]).to_pylist():
        claims.setdefault((row["partition"], row["offset"]), []).append(row["value"])
    twice = [values for values in claims.values() if len(values) > 1]

    assert len(twice) == 2 * 2 * 3  # two sorts of cuts, each twice, of three records
    for lost, later in twice:
        assert lost not in epoch_of
        assert epoch_of[later] > 5


def test_leader_epochs_only_grow_along_a_log(folders):
    log = rows(folders["clean"], f="final-read")

    for partition in range(PARTITIONS):
        mine = log.filter(pc.equal(log["partition"], partition)).sort_by("offset")
        assert (np.diff(mine["epoch"].to_numpy()) >= 0).all()
        assert (np.diff(mine["offset"].to_numpy()) > 0).all()


@pytest.mark.parametrize("shape", ["tail-lost", "scattered-lost"])
def test_half_of_the_acknowledged_records_are_lost(folders, shape):
    acked = rows(folders[shape], f="send", type="ok").num_rows

    assert 0.45 < folders[shape].expected["lost"] / acked < 0.55


def test_the_lost_tail_is_the_end_of_each_log(folders):
    made = folders["tail-lost"]
    left = rows(made, f="final-read")
    acked = rows(made, f="send", type="ok")
    lost = acked.filter(pc.invert(pc.is_in(acked["value"], left["value"].combine_chunks())))

    for partition in range(PARTITIONS):
        first = pc.min(lost.filter(pc.equal(lost["partition"], partition))["offset"]).as_py()
        last = pc.max(left.filter(pc.equal(left["partition"], partition))["offset"]).as_py()
        assert last < first


def test_the_same_history_is_made_again(folders, tmp_path):
    again = histories.write(tmp_path / "planted", OPERATIONS, "planted")

    assert again.expected == folders["planted"].expected
    first, second = (
        (made.folder / "history/sealed.json").read_text() for made in (folders["planted"], again)
    )
    assert first == second


def test_a_history_that_is_too_small_for_all_plants_says_so(tmp_path):
    with pytest.raises(ValueError, match="too small to plant"):
        histories.write(tmp_path / "run", 2_000, "planted")


def test_rows_are_written_in_groups(folders):
    for file in (folders["clean"].folder / "history/operations").iterdir():
        groups = pa.parquet.read_metadata(file)
        assert all(
            groups.row_group(n).num_rows <= tables.ROW_GROUP for n in range(groups.num_row_groups)
        )
