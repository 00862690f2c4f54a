"""Two readers of a segment, by columns and record by record, give one answer."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.history.record_format import (
    FAIL,
    INFO,
    OK,
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
    for operation, row in zip(_good(by_record), content.records.tolist(), strict=True):
        assert (operation.partition, operation.intended_ns, operation.start_ns) == (
            row[2],
            row[4],
            row[5],
        )
        assert (operation.offset, operation.broker, operation.error) == (
            row[6] if row[6] >= 0 else None,
            row[8] if row[8] >= 0 else None,
            row[9],
        )


def _good(found: Iterable[Operation | str]) -> list[Operation]:
    return [each for each in found if isinstance(each, Operation)]
