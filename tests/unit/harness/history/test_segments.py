"""Two readers of a segment, by columns and record by record, give one answer."""

import struct
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.history.record_format import (
    FAIL,
    INFO,
    NOTHING,
    OK,
    OPEN,
    OPTIONAL,
    RECORD_SIZE,
    SEND,
    Operation,
    read_operations,
)
from harness.history.recorder import Recorder
from harness.history.segments import read_segment


def _segment(folder: Path) -> bytes:
    recorder = Recorder(folder, "p", capacity=8)
    for n in range(6):
        operation = recorder.invoke(SEND, n, n, 10, 11)
        if n % 3:
            recorder.complete(operation, (OK, FAIL, INFO)[n % 3], n, 12, n, -n)
    recorder.close()
    return (folder / "p.0000.seg").read_bytes()


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    damage=st.lists(st.tuples(st.integers(24, 9 * RECORD_SIZE - 1), st.integers(0, 255))),
    length=st.integers(24, 9 * RECORD_SIZE),
)
@example(damage=[(8 * RECORD_SIZE, 1)], length=8 * RECORD_SIZE + 1)  # of the last slot one byte
def test_reading_by_columns_is_reading_record_by_record(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[int, int]], length: int
) -> None:
    """Whatever bytes are changed or cut off, both readers tell the same."""
    folder = tmp_path_factory.mktemp("segment")
    data = bytearray(_segment(folder))
    for at, byte in damage:
        data[at] = byte
    path = folder / "q.0000.seg"
    path.write_bytes(data[:length])

    by_record = list(read_operations(bytes(data[:length])))
    content = read_segment(path, "q", first_id=0, last=True)

    counts = {f.kind: f.count for f in content.findings}
    assert [o.id for o in by_record if isinstance(o, Operation)] == content.ids.tolist()
    assert by_record.count("torn") == counts.get("torn", 0)
    assert by_record.count("bad") == counts.get("bad-record", 0)
    names = content.records.dtype.names or ()
    for operation, row in zip(_good(by_record), content.records, strict=True):
        found = {name: int(row[name]) for name in names}
        assert _told(operation) == {
            name: None if name in MAYBE and number == NOTHING else number
            for name, number in found.items()
            if name not in ("type", "f", "end_ns")
        }


def test_a_segment_of_format_1_is_read_and_lacks_what_format_2_added(tmp_path: Path) -> None:
    """Records of 56 bytes, as they were written before: an ack, and one that is open."""
    header = struct.pack("<8sHxxIQ", b"KHIST\0\0\1", 56, 4, 0).ljust(56, b"\0")
    acked = struct.pack("<BBxxiqqqqqii", OK, SEND, 3, 7, 10, 11, 40, 12, 2, 0)
    begun = struct.pack("<BBxxiqqqqqii", OPEN, SEND, 3, 8, 20, 21, 0, 0, 0, 0)
    path = tmp_path / "q.0000.seg"
    path.write_bytes((header + acked + begun).ljust(5 * 56, b"\0"))

    by_record = _good(read_operations(path.read_bytes()))
    content = read_segment(path, "q", first_id=0, last=True)

    assert [(o.id, o.type, o.value, o.offset, o.broker) for o in by_record] == [
        (0, "ok", 7, 40, 2),
        (1, "info", 8, None, None),
    ]
    assert {o.instance for o in by_record} == {None}
    assert content.findings == ()
    assert content.records["offset"].tolist() == [40, NOTHING]
    for name in ("instance", "transaction", "generation", "epoch"):
        assert content.records[name].tolist() == [NOTHING, NOTHING]


MAYBE = ("instance", *OPTIONAL)


def _told(operation: Operation) -> dict[str, int | None]:
    told = asdict(operation)
    return {name: told[name] for name in told if name not in ("id", "type", "f", "end_ns")}


def _good(found: Iterable[Operation | str]) -> list[Operation]:
    return [each for each in found if isinstance(each, Operation)]
