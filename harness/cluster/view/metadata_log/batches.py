"""The batches of a metadata log's segment, or of a snapshot of it: bytes as they lie on disk.

    base offset i64, length i32, leader epoch i32, magic i8 (2), crc32c u32, attributes i16, …

The log is not compressed unless somebody says so; kafka-python reads what is, where it has the
codec. A batch that is cut short, or of which the checksum is wrong, is still being written or was
torn by a crash: it ends the segment, as it does for Kafka when it recovers one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from kafka.record.default_records import DefaultRecordBatch

from harness.cluster.view.metadata_log import decoding
from harness.cluster.view.metadata_log.encoding import Misread
from harness.cluster.view.metadata_log.records import Record

HEAD_BYTES = 61
_HEAD = struct.Struct(">qiibIhi")  # up to and with the last offset's delta
_BEFORE_LENGTH_COUNTS = 12  # base offset and length themselves
_MAGIC = 2
_CONTROL = 0x20


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One whole batch; its records are decoded when somebody wants them."""

    base_offset: int
    last_offset: int
    epoch: int  # of the leader that wrote it
    checksum: int  # no two batches of one offset and epoch have the same, unless they are the same
    control: bool
    data: bytes

    def records(self) -> Iterator[tuple[int, Record]]:
        """Those that say something here, with their offsets. Raises Misread."""
        try:
            for entry in DefaultRecordBatch(self.data):
                value = entry.value or b""
                record = (
                    decoding.of_control(entry.type, value)
                    if self.control
                    else decoding.of_data(value)
                )
                if record is not None:
                    yield entry.offset, record
        except Misread as error:
            raise Misread(f"offset {self.base_offset}: {error}") from None
        except Exception as error:  # of a codec that is not installed, for one
            raise Misread(f"the batch at offset {self.base_offset}: {error}") from error


def whole_batches(data: bytes) -> Iterator[Batch]:
    """Every whole batch from the first byte on, in order."""
    at = 0
    while len(data) - at >= HEAD_BYTES:
        base, length, epoch, magic, checksum, attributes, delta = _HEAD.unpack_from(data, at)
        end = at + _BEFORE_LENGTH_COUNTS + length
        if magic != _MAGIC or end - at < HEAD_BYTES or end > len(data):
            return
        own = data[at:end]
        if not DefaultRecordBatch(own).validate_crc():
            return
        yield Batch(
            base_offset=base,
            last_offset=base + delta,
            epoch=epoch,
            checksum=checksum,
            control=bool(attributes & _CONTROL),
            data=own,
        )
        at = end
