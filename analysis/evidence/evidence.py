"""Evidence of found rows: analysis.frames.evidence.evidence, by numpy.

    table = evidence(rows, facts)              schema.EVIDENCE, of rows of one run, and `facts`, its
                                               row of schema.RUNS
    folders = written(found, facts, folder)    {"study-1/…": {"lost": Path, …}, …}: a folder for
                                               each run and anomaly with one Parquet file,
                                               written as rows come, however many there are

Spark would compare each row with all leaders and faults of the run, uncompiled; here rows are
sorted by time, and each leader has its stretch of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.evidence.found_rows import Found, Mask
from analysis.evidence.permission import permitting
from analysis.frames import schema
from analysis.frames.operations import OFFSET_BITS, SENT_NAMES
from analysis.frames.permission import FORBIDDEN, IN_DOUBT, PERMITTED
from analysis.stored.columns import Numbers
from analysis.stored.fact_rows import CauseRow, FaultRow, RunRow, StateRow
from harness.history.record_format import SEQUENCE_BITS

Folders = Mapping[str, Mapping[str, Path]]  # run_id -> anomaly -> folder
SCHEMA = schema.arrow(schema.EVIDENCE)
_SECONDS = {"time_s": "time_ns", "sent_s": "sent_ns", "acked_s": "acked_ns"} | {
    "delivered_s": "delivered_ns"
}


def evidence(table: pa.Table, facts: RunRow) -> pa.Table:
    """Rows of analysis.frames.evidence.rows, with at least found_rows.COLUMNS, as evidence."""
    found = Found(table)
    columns = {
        **{name: table[name] for name in SCHEMA.names if name in table.column_names},
        **_places(found),
        **_seconds(found, facts["load_start_ns"]),
        **_leader(found, facts["states"]),
        **_faults(found, facts["faults"]),
        **_judged(found, facts["causes"]),
        "sent": _taken([None, *SENT_NAMES.values()], _sent(found)),
    }
    return pa.table([columns[f.name].cast(f.type) for f in SCHEMA], schema=SCHEMA)


def _places(found: Found) -> dict[str, pa.Array]:
    value, has_value = found.number["value"], found.known["value"]
    low = (1 << OFFSET_BITS) - 1
    columns = {
        "partition": (found.number["partition"], found.known["partition"]),
        "offset": (found.number["place"] & low, found.known["place"]),
        "other_partition": (found.number["other_partition"], found.known["other_partition"]),
        "other_offset": (found.number["other_place"] & low, found.known["other_place"]),
        "producer": (value >> SEQUENCE_BITS, has_value),
        "sequence": (value & ((1 << SEQUENCE_BITS) - 1), has_value),
    }
    return {name: pa.array(number, mask=~known) for name, (number, known) in columns.items()}


def _seconds(found: Found, start_ns: int) -> dict[str, pa.Array]:
    seconds = {
        name: pa.array((found.number[ns] - start_ns) / 1e9, mask=~found.known[ns])
        for name, ns in _SECONDS.items()
    }
    lasted = pa.array(found.number["lasted_ns"] / 1e9, mask=~found.known["lasted_ns"])
    return {**seconds, "lasted_s": lasted}


def _sent(found: Found) -> Numbers:
    """The place of each row's name, 0 if the value was never sent."""
    at = np.searchsorted(list(SENT_NAMES), found.number["sent"]) + 1
    return np.where(found.known["sent"] & np.isin(found.number["sent"], list(SENT_NAMES)), at, 0)


def _leader(found: Found, states: Sequence[StateRow]) -> dict[str, pa.Array]:
    """The known leader at the moment of each row."""
    now = found.number["time_ns"]
    led = np.zeros(len(found), dtype=np.int64)
    timed = np.flatnonzero(found.known["time_ns"] & found.known["partition"])
    timed = timed[np.lexsort((now[timed], found.number["partition"][timed]))]
    partitions, starts = np.unique(found.number["partition"][timed], return_index=True)
    of = dict(zip(partitions.tolist(), np.split(timed, starts[1:]), strict=False))
    for place, state in reversed(list(enumerate(states, start=1))):  # the first one counts
        rows = of.get(state["partition"])
        if rows is None:
            continue
        since, until = state["from_ns"], state["to_ns"]
        begin = np.searchsorted(now[rows], since)
        end = len(rows) if until is None else np.searchsorted(now[rows], until)
        led[rows[begin:end]] = place
    return {
        "leader": _taken([None, *(state["leader"] for state in states)], led),
        "epoch": _taken([None, *(state["epoch"] for state in states)], led),
    }


def _taken(words: Sequence[Any], place: Numbers) -> pa.Array:
    return pa.array(words).take(pa.array(place))


def _faults(found: Found, faults: Sequence[FaultRow]) -> dict[str, pa.Array]:
    """The faults in force between the send and the moment of each row, and the first later one."""
    now, timed = found.number["time_ns"], found.known["time_ns"]
    sent = found.known["sent_ns"]
    since = np.where(sent, np.minimum(now, found.number["sent_ns"]), now)
    in_force: Mask = np.zeros((len(found), len(faults)), dtype=bool)
    later = np.zeros(len(found), dtype=np.int64)
    for place, fault in reversed(list(enumerate(faults))):
        begun = timed & (fault["invoke_ns"] <= now)
        in_force[:, place] = begun if fault["end_ns"] is None else begun & (since < fault["end_ns"])
        later[timed & ~begun] = place + 1
    numbers = [fault["fault"] for fault in faults]
    rows, places = np.nonzero(in_force)
    ends = np.cumsum(np.bincount(rows, minlength=len(found)))
    taken = pa.array(numbers, pa.int32()).take(pa.array(places))
    offsets = pa.array(np.concatenate([[0], ends]).astype(np.int32))
    return {
        "faults": pa.ListArray.from_arrays(offsets, taken),
        "next_fault": _taken([None, *numbers], later),
    }


def _judged(found: Found, causes: Sequence[CauseRow]) -> dict[str, pa.Array]:
    place = permitting(found, causes) + 1
    words = [FORBIDDEN, *(PERMITTED if cause["sure"] else IN_DOUBT for cause in causes)]
    return {
        "judged": _taken(words, place),
        "cause": _taken([None, *(cause["number"] for cause in causes)], place),
        "permitted_by": _taken(
            [None, *(cause["words"] if cause["sure"] else None for cause in causes)], place
        ),
    }


# Evidence as files


def written(found: Iterable[pa.Table], facts: Mapping[str, RunRow], folder: Path) -> Folders:
    """The evidence of found rows (analysis.evidence.found_rows), below `folder`. `facts`: rows of
    schema.RUNS by run_id. A run's folder is named by its number: its id may be too long for a name,
    or empty."""
    numbers = {run_id: number for number, run_id in enumerate(facts)}
    folders: dict[str, dict[str, Path]] = {run_id: {} for run_id in facts}
    with ExitStack() as stack:
        writers: dict[Path, pq.ParquetWriter] = {}
        for rows in found:
            for run_id, anomaly, some in _parts(rows, facts):
                part = folder / str(numbers[run_id]) / anomaly
                if part not in writers:
                    part.mkdir(parents=True)
                    writer = pq.ParquetWriter(
                        part / "part-0.parquet", some.schema, compression="zstd"
                    )
                    writers[part] = stack.enter_context(writer)
                    folders[run_id][anomaly] = part
                writers[part].write_table(some)
    return folders


def _parts(rows: pa.Table, facts: Mapping[str, RunRow]) -> Iterable[tuple[str, str, pa.Table]]:
    """The evidence of each run and anomaly among some found rows."""
    for run_id in pc.unique(rows["run_id"]).to_pylist():
        of_run = evidence(rows.filter(pc.equal(rows["run_id"], run_id)), facts[run_id])
        for anomaly in pc.unique(of_run["anomaly"]).to_pylist():
            yield run_id, anomaly, of_run.filter(pc.equal(of_run["anomaly"], anomaly))
