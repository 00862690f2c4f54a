"""KRaft's metadata log, record by record, and the copies of it that nodes have on disk.

logs = Logs(tmp_path, "controller1", "controller2", "controller3")
a, b, c = logs.copies
a.elected(1)                       # a leads epoch 1: its first record
a.append(topic("t"), partition("t", 0, leader=1, isr=[1, 2, 3]))
b.follow(a)                        # b has all that a has; what it had beside is truncated
"""

from __future__ import annotations

import re
import shutil
import struct
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, takewhile
from pathlib import Path
from uuid import UUID, uuid5

from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c

from harness.cluster.local.backend import kraft_nodes
from harness.cluster.view.metadata_log.disk import TOPIC_FOLDER
from harness.cluster.view.metadata_log.lineage import Lineage, Term

_NAMES = UUID(int=1)
_CLOCK_MS = count(1_700_000_000_000)
NOBODY = -1
Ids = Sequence[int]


def id_of(text: str) -> UUID:
    """The id of what has this name: a topic, a disk."""
    return uuid5(_NAMES, text)


# --- the encoding


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def text(value: str | None) -> bytes:
    return uvarint(0) if value is None else uvarint(len(value.encode()) + 1) + value.encode()


def array(items: Sequence[bytes]) -> bytes:
    return uvarint(len(items) + 1) + b"".join(items)


def ids(values: Ids) -> bytes:
    return array([struct.pack(">i", value) for value in values])


def tags(**fields: bytes | None) -> bytes:
    """Tagged fields, `t0=…`; those that are None are left out."""
    there = {int(name[1:]): data for name, data in fields.items() if data is not None}
    told = b"".join(uvarint(tag) + uvarint(len(d)) + d for tag, d in sorted(there.items()))
    return uvarint(len(there)) + told


def framed(key: int, version: int, message: bytes) -> bytes:
    """A record of data."""
    return uvarint(1) + uvarint(key) + uvarint(version) + message


# --- records of data


def topic(name: str) -> bytes:
    return framed(2, 0, text(name) + id_of(name).bytes + tags())


def topic_gone(name: str) -> bytes:
    return framed(9, 0, id_of(name).bytes + tags())


def partition(
    of: str,
    number: int,
    *,
    leader: int = 1,
    isr: Ids = (1, 2, 3),
    replicas: Ids = (1, 2, 3),
    epochs: tuple[int, int] = (0, 0),
    elr: Ids | None = None,
    last_known_elr: Ids | None = None,
    version: int = 2,
) -> bytes:
    message = struct.pack(">i", number) + id_of(of).bytes + ids(replicas) + ids(isr)
    message += ids([]) + ids([]) + struct.pack(">iii", leader, *epochs)
    if version >= 1:
        message += array([id_of(f"disk-{each}").bytes for each in replicas])
    more = {"t1": elr, "t2": last_known_elr}
    return framed(3, version, message + tags(**{k: _ids_or_none(v) for k, v in more.items()}))


def change(
    of: str,
    number: int,
    *,
    leader: int | None = None,
    isr: Ids | None = None,
    replicas: Ids | None = None,
    elr: Ids | None = None,
    last_known_elr: Ids | None = None,
) -> bytes:
    told = tags(
        t0=_ids_or_none(isr),
        t1=None if leader is None else struct.pack(">i", leader),
        t2=_ids_or_none(replicas),
        t5=b"\x00",  # whether the leader recovers, which says nothing here
        t6=_ids_or_none(elr),
        t7=_ids_or_none(last_known_elr),
    )
    return framed(5, 2, struct.pack(">i", number) + id_of(of).bytes + told)


def _ids_or_none(values: Ids | None) -> bytes | None:
    return None if values is None else ids(values)


def broker(id_: int, epoch: int, *, fenced: bool = True, version: int = 3) -> bytes:
    endpoint = text("PLAINTEXT") + text("10.77.0.21") + struct.pack(">Hh", 9092, 0) + tags()
    supported = text("metadata.version") + struct.pack(">hh", 1, 25) + tags()
    message = struct.pack(">i", id_)
    if version >= 2:
        message += b"\x00"
    message += id_of(f"process-{id_}-{epoch}").bytes + struct.pack(">q", epoch)
    message += array([endpoint]) + array([supported]) + text(None) + bytes([fenced])
    if version >= 1:
        message += b"\x00"
    directories = array([id_of(f"disk-{id_}").bytes]) if version >= 3 else None
    return framed(0, version, message + tags(t0=directories))


def fence(id_: int, epoch: int) -> bytes:
    return framed(7, 0, struct.pack(">iq", id_, epoch) + tags())


def unfence(id_: int, epoch: int) -> bytes:
    return framed(8, 0, struct.pack(">iq", id_, epoch) + tags())


def unregister(id_: int, epoch: int) -> bytes:
    return framed(1, 0, struct.pack(">iq", id_, epoch) + tags())


def registration_change(
    id_: int, epoch: int, *, fenced: int | None = None, shutting_down: int | None = None
) -> bytes:
    told = tags(
        t0=None if fenced is None else struct.pack(">b", fenced),
        t1=None if shutting_down is None else struct.pack(">b", shutting_down),
    )
    return framed(17, 2, struct.pack(">iq", id_, epoch) + told)


def feature(name: str, level: int) -> bytes:
    return framed(12, 0, text(name) + struct.pack(">h", level) + tags())


def clear_elr(of: str = "") -> bytes:
    return framed(28, 0, text(of) + tags())


def begin() -> bytes:
    return framed(22, 0, tags(t0=text("a topic of many partitions")))


def end() -> bytes:
    return framed(24, 0, tags())


def abort() -> bytes:
    return framed(25, 0, tags(t0=text("the controller was replaced")))


def no_op() -> bytes:
    return framed(20, 0, tags())


# --- control records and batches


def leader_change(leader: int, voters: Ids = ()) -> tuple[int, bytes]:
    each = [struct.pack(">i", id_) + tags() for id_ in voters]
    return 2, struct.pack(">hi", 0, leader) + array(each) + array(each) + tags()


def voters(*keys: tuple[int, str | None]) -> tuple[int, bytes]:
    """Who may vote: a node's number and the name of its disk."""
    endpoint = text("CONTROLLER") + text("10.77.0.11") + struct.pack(">H", 9093) + tags()
    each = [
        struct.pack(">i", id_)
        + (id_of(disk).bytes if disk else bytes(16))
        + array([endpoint])
        + struct.pack(">hh", 0, 1)
        + tags()
        + tags()
        for id_, disk in keys
    ]
    return 6, struct.pack(">h", 0) + array(each) + tags()


def batch(
    base: int, epoch: int, *records: bytes | tuple[int, bytes], codec: int = 0, ms: int = 1
) -> bytes:
    """A batch of records of data, or of control records."""
    control = isinstance(records[0], tuple)
    builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 10**7)
    for number, record in enumerate(records):
        key, value = (None, record) if isinstance(record, bytes) else (record[0], record[1])
        told = None if key is None else struct.pack(">hh", 0, key)
        builder.append(number, ms, told, value, [])
    made = bytearray(builder.build())
    struct.pack_into(">q", made, 0, base)
    struct.pack_into(">i", made, 12, epoch)
    if control:
        made[22] |= 0x20
    return with_checksum(made)


def with_checksum(made: bytearray) -> bytes:
    """A batch whose bytes were changed, with the checksum that they have now."""
    struct.pack_into(">I", made, 17, calc_crc32c(memoryview(made)[21:]))
    return bytes(made)


# --- a log by its epochs alone


def lineage(told: str) -> Lineage:
    """`1:0-40 3:40-60`: epoch 1 has the offsets 0 to 39, epoch 3 40 to 59.

    `1'` is another election of that epoch; `?` before the offsets: it may have begun before.
    """
    terms: list[Term] = []
    for epoch, unknown, first, end in re.findall(r"(\d+'?):(\??)(\d+)-(\d+)", told):
        number = int(epoch.rstrip("'"))
        mark = None if unknown else 1000 * number + epoch.count("'")
        if terms and terms[-1].epoch == number:
            terms[-1] = replace(terms[-1], end=int(end))
        else:
            terms.append(Term(epoch=number, first=int(first), end=int(end), mark=mark))
    return tuple(terms)


# --- copies on disk


Stored = tuple[int, int, int, bytes]  # base offset, the offset behind, epoch, the batch


class CopyOnDisk:
    """One node's folder of the log, written as Kafka writes it; one segment, until it rolls."""

    def __init__(self, data: Path, id_: int, disk: str | None = None) -> None:
        self.data, self.id = data, id_
        self.folder = data / TOPIC_FOLDER
        self.format(disk)

    def format(self, disk: str | None = None) -> None:
        """An empty disk, with this id."""
        shutil.rmtree(self.data, ignore_errors=True)
        self._batches: list[Stored] = []
        self._bases = [0]  # of its segments
        self.end = self.epoch = 0
        self.folder.mkdir(parents=True)
        of = f"node.id={self.id}\n"
        if disk:
            of += f"directory.id={urlsafe_b64encode(id_of(disk).bytes).decode().rstrip('=')}\n"
        (self.data / "meta.properties").write_text(of)

    def elected(self, epoch: int, *more: tuple[int, bytes]) -> None:
        """This node leads an epoch: its first record, and what else is in that batch."""
        self.epoch = epoch
        self.append(leader_change(self.id), *more)

    def append(self, *records: bytes | tuple[int, bytes]) -> int:
        """A batch of the newest epoch; its base offset."""
        base, self.end = self.end, self.end + len(records)
        made = batch(base, self.epoch, *records, ms=next(_CLOCK_MS))
        self._batches.append((base, self.end, self.epoch, made))
        self._write()
        return base

    def follow(self, leader: CopyOnDisk, end: int | None = None) -> None:
        """Have what another one has, up to an offset; what is not the same is truncated."""
        theirs = [each for each in leader._batches if end is None or each[0] < end]
        start = leader._bases[0]
        same = takewhile(lambda each: each in theirs or each[1] <= start, self._batches)
        self._batches = list(same)
        self.end = self._batches[-1][1] if self._batches else self._bases[0]
        self._batches += [each for each in theirs if each[0] >= self.end]
        if self._batches:
            _, self.end, self.epoch, _ = self._batches[-1]
        self._bases = [base for base in self._bases if base <= self.end]
        self._write()

    def truncate(self, end: int) -> None:
        self.follow(self, end)

    def roll(self) -> None:
        """The next batch goes into a new segment."""
        self._bases.append(self.end)
        self._write()

    def snapshot(self, end: int, epoch: int, *records: bytes | tuple[int, bytes]) -> Path:
        """A snapshot of these records, up to an offset; each in a batch of its own."""
        path = self.folder / f"{end:020d}-{epoch:010d}.checkpoint"
        made = [batch(number, epoch, record) for number, record in enumerate(records)]
        path.write_bytes(b"".join(made))
        return path

    def begin_at(self, offset: int) -> None:
        """All before that offset is deleted; it is where a segment begins."""
        self._batches = [each for each in self._batches if each[0] >= offset]
        self._bases = [base for base in self._bases if base > offset]
        self._bases.insert(0, offset)
        self.end = max(self.end, offset)
        self._write()

    def segment(self) -> Path:
        """The newest segment's file."""
        return max(self.folder.glob("*.log"))

    def _write(self) -> None:
        for old in self.folder.glob("*.log"):
            if int(old.stem) not in self._bases:
                old.unlink()
        for base, behind in zip(self._bases, [*self._bases[1:], 2**62], strict=True):
            data = b"".join(made for at, _, _, made in self._batches if base <= at < behind)
            (self.folder / f"{base:020d}.log").write_bytes(data)


class Logs:
    """Copies of the log on the disks of nodes with these names, and of three brokers."""

    def __init__(self, root: Path, *names: str, disks: bool = False) -> None:
        self.nodes = kraft_nodes(0, 3, combined=False) + tuple(
            node for node in kraft_nodes(9, 0, combined=False) if node.name in names
        )
        number = {node.name: node.id for node in self.nodes}
        self.by_name = {
            name: CopyOnDisk(root / name, number[name], name if disks else None) for name in names
        }
        self.copies = tuple(self.by_name.values())

    @property
    def folders(self) -> dict[str, Path]:
        return {name: copy.folder for name, copy in self.by_name.items()}
