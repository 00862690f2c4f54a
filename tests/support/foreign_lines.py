"""Lines of histories that are not ours, and what an import makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from harness.foreign.about import About
from harness.foreign.imported_run import ImportRequest
from harness.foreign.importing import import_files
from harness.model.runs.run_folder import RunFolder

ZERO_MS = 1_763_985_600_000
Line = dict[str, Any]


def tool_line(ms: int, name: str, **fields: Any) -> Line:
    """One line."""
    return {"timestamp": ZERO_MS + ms, "name": name, **fields}


def began(ms: int, value: str, **fields: Any) -> Line:
    """The begin of a send."""
    return tool_line(ms, "producer_send_begin", value=value, **fields)


def acked(ms: int, value: str, offset: int, partition: int = 0) -> Line:
    """A send that is acknowledged, as VerifiableProducer says it."""
    fields = {"key": None, "value": value, "partition": partition, "offset": offset}
    return tool_line(ms, "producer_send_success", topic="t", **fields)


def assigned(ms: int, *partitions: int) -> Line:
    """Partitions that a consumer is assigned."""
    return tool_line(ms, "partitions_assigned", partitions=[_of(each) for each in partitions])


def read(ms: int, value: str | None, offset: int, partition: int = 0) -> Line:
    """A record that a consumer was given, as VerifiableConsumer says it with --verbose."""
    return tool_line(ms, "record_data", key=None, value=value, **_of(partition), offset=offset)


def summed(ms: int, first: int, last: int, count: int | None = None, partition: int = 0) -> Line:
    """What one poll returned, as VerifiableConsumer sums it up."""
    many = last - first + 1 if count is None else count
    part = {**_of(partition), "count": many, "minOffset": first, "maxOffset": last}
    return tool_line(ms, "records_consumed", count=many, partitions=[part])


def ended(ms: int) -> Line:
    """A tool's last line."""
    return tool_line(ms, "shutdown_complete")


def _of(partition: int) -> Line:
    return {"topic": "t", "partition": partition}


def write_lines(file: Path, lines: Iterable[Line | str]) -> Path:
    """A file of these lines."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("".join(f"{text}\n" for text in texts))
    return file


def imported(
    folder: Path, *files: Path, final: Sequence[str] = (), about: About | None = None
) -> RunFolder:
    """The run that is made of these files."""
    name = folder.parent.name  # two runs of one second would have one id
    request = ImportRequest(name=name, results=folder, command="import", about=about or About())
    run, _ = import_files(files, final, request)
    return run


def imported_pair(
    folder: Path, sends: Iterable[Line], reads: Iterable[Line], about: About | None = None
) -> RunFolder:
    """The run of a producer and of a consumer whose reading is the final read."""
    producer, consumer = (
        write_lines(folder / "p.jsonl", sends),
        write_lines(folder / "c.jsonl", reads),
    )
    return imported(folder / "results", producer, consumer, final=[str(consumer)], about=about)


def ends(run: RunFolder) -> dict[int, tuple[bool, int | None, int | None]]:
    """Of each partition whether its final read is complete, where the log began, and how far it
    got."""
    events = pq.read_table(run.history / "events.parquet").to_pylist()
    return {
        row["partition"]: (row["complete"], row["log_start"], row["position"])
        for row in events
        if row["event"] == "ends"
    }
