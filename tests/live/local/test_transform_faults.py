"""Consume, transform, produce on a real cluster: what each output was made of, each only once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.history.record_format import SEQUENCE_BITS
from harness.model.worker_kinds import FIRST_OUTPUT
from tests.support.commands import Ran, assert_valid, carried_out, faults_of

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]
WORKERS = ("transformer-0", "transformer-0-2", "transformer-1")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return carried_out("transform.toml", tmp_path_factory.mktemp("transform"))


def operations(run: Ran, f: str, *processes: str) -> list[dict[str, Any]]:
    """Those of some workers; of the transformers unless told."""
    assert run.folder is not None
    folder = run.folder / "history/operations"
    tables = [pq.read_table(folder / f"{name}.parquet") for name in processes or WORKERS]
    return [row for table in tables for row in table.to_pylist() if row["f"] == f]


def events(run: Ran, process: str, name: str) -> list[dict[str, Any]]:
    assert run.folder is not None
    text = (run.folder / f"history/{process}.jsonl").read_text()
    return [event for event in map(json.loads, text.splitlines()) if event["event"] == name]


def of_inputs(run: Ran) -> list[dict[str, Any]]:
    """What was processed for good of the producers' records."""
    rows = operations(run, "process")
    return [r for r in rows if r["type"] == "ok" and r["value"] >> SEQUENCE_BITS < FIRST_OUTPUT]


def test_it_meets_what_is_demanded(run):
    """Nothing is skipped, and nothing is processed twice."""
    assert_valid(run)


def test_who_is_killed_has_a_successor_with_its_transactional_id_and_values_of_its_own(run):
    (fault,) = faults_of(run)
    workers = {w["process"]: w for w in run.record()["workers"] if w["role"] == "transformer"}

    assert fault["nodes"] == ["transformer-0"]
    assert set(WORKERS) == workers.keys()
    ids = [workers[name]["config"]["transactional.id"] for name in WORKERS]
    assert ids == ["transform-2", "transform-2", "transform-3"]
    sent = Counter(row["value"] for row in operations(run, "send"))
    assert set(sent.values()) == {1}
    assert operations(run, "send", "transformer-0-2")


def test_each_output_names_the_processing_of_its_input_and_ends_as_that_does(run):
    for name in WORKERS:
        begun = {row["start_ns"]: row for row in operations(run, "process", name)}
        assert len(begun) == len(operations(run, "process", name))
        for send in operations(run, "send", name):
            process = begun[send["intended_ns"]]
            assert process["value"] >> SEQUENCE_BITS < FIRST_OUTPUT
            assert send["value"] >> SEQUENCE_BITS >= FIRST_OUTPUT
            assert send["partition"] == (process["partition"] + 1) % 4
            assert (send["type"], send["transaction"]) == (process["type"], process["transaction"])


def test_each_input_that_was_processed_has_its_one_output_in_the_log(run):
    """Of those that were aborted the final read has none."""
    in_log = {row["value"] for row in operations(run, "final-read", "final-read-0")}
    outputs = {(r["process"], r["intended_ns"]): r["value"] for r in operations(run, "send")}
    done = of_inputs(run)
    made = {outputs[row["process"], row["start_ns"]] for row in done}
    failed = {row["value"] for row in operations(run, "send") if row["type"] == "fail"}

    assert done
    assert len(made) == len(done) == len({(row["partition"], row["offset"]) for row in done})
    assert made <= in_log
    assert failed
    assert not failed & in_log


def test_the_group_goes_on_behind_what_was_processed_and_an_abort_takes_its_offsets_back(run):
    commits, done = operations(run, "commit"), operations(run, "process")
    for partition in range(4):
        ends = [r["offset"] for r in commits if (r["partition"], r["type"]) == (partition, "ok")]
        last = [r["offset"] for r in done if (r["partition"], r["type"]) == (partition, "ok")]
        assert max(ends) == max(last) + 1
    aborted = {
        (name, event["transaction"])
        for name in WORKERS
        for event in events(run, name, "transaction")
        if event["name"] == "aborted"
    }
    assert aborted
    for row in (*commits, *done):
        gone = (row["process"], row["transaction"]) in aborted
        assert gone == (row["type"] == "fail")
