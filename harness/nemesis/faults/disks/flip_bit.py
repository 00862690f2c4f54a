"""flip-bit: one bit of a record in a closed segment is flipped on disk, as a bad disk does.

Undone by `restore-bit`. A segment is closed once the next one is rolled (topic `segment.bytes`);
the nemesis waits for one. Which segment, batch and bit follow from the seed. The bit lies in a
batch's records, which its CRC covers.

A broker serves closed segments without checking them. A follower that fetches the batch checks
the CRC and refuses it; a consumer does so with `check.crcs` (off in librdkafka by
default), else it gets the changed record.

Source: Kafka documentation, Implementation: Messages (record batch); librdkafka's CONFIGURATION.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from harness.cluster.capabilities import Disks
from harness.model.effects import Effects
from harness.nemesis.faults.processes.revive import disks
from harness.nemesis.verb import BROKERS, Injection, Verb

LENGTH_AT, LENGTH_END = 8, 12  # a batch's length field, and what it does not count
HEADER = 61  # records begin there
BITS = 8


def _flip(injection: Injection) -> None:
    """Flip a bit, if there is a closed segment; `_flipped` tries again until there is."""
    random = Random(injection.seed)  # noqa: S311  reproducible on purpose
    closed = closed_segments(disks(injection).data_folder(injection.node))
    if not closed:
        return
    segment = random.choice(closed)
    position = pick(segment.read_bytes(), random)
    before = _byte(segment, position)
    after = before ^ (1 << random.randrange(BITS))
    injection.memo["flip"] = (segment, position, before, after)
    _write(segment, position, after)


def _flipped(injection: Injection) -> str | None:
    if "flip" not in injection.memo:
        _flip(injection)
        return None
    segment, position, before, after = injection.memo["flip"]
    if not segment.exists() or _byte(segment, position) != after:
        return None
    return (
        f"byte {position} of {segment.parent.name}/{segment.name} of {injection.node.name} "
        f"was {before:#04x} and is {after:#04x}"
    )


def _restore(injection: Injection) -> None:
    if "flip" not in injection.memo:
        return
    segment, position, before, after = injection.memo["flip"]
    if segment.exists() and _byte(segment, position) == after:
        _write(segment, position, before)


def _restored(injection: Injection) -> str | None:
    if "flip" not in injection.memo:
        return "nothing was flipped"
    segment, position, before, _ = injection.memo["flip"]
    if not segment.exists():
        return f"{segment.name} of {injection.node.name} is gone"
    return f"byte {position} is {before:#04x} again" if _byte(segment, position) == before else None


def closed_segments(data: Path) -> list[Path]:
    """All segments of user topics but each partition's last one, in order of their paths."""
    folders = (f for f in sorted(data.iterdir()) if f.is_dir() and not f.name.startswith("__"))
    segments = (sorted(folder.glob("*.log"))[:-1] for folder in folders)
    return [segment for some in segments for segment in some if segment.stat().st_size > HEADER]


def pick(segment: bytes, random: Random) -> int:
    """The position of a byte, drawn at random, in the records of one of the segment's batches."""
    start, end = random.choice(list(batches(segment)))
    return random.randrange(start + HEADER, end)


def batches(segment: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of each whole batch that has records."""
    start = 0
    while start + HEADER < len(segment):
        length = int.from_bytes(segment[start + LENGTH_AT : start + LENGTH_END])
        end = start + LENGTH_END + length
        if end > len(segment):
            return
        if end > start + HEADER:
            yield start, end
        start = end


def _byte(file: Path, position: int) -> int:
    with file.open("rb") as opened:
        opened.seek(position)
        return opened.read(1)[0]


def _write(file: Path, position: int, byte: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(position)
        opened.write(bytes([byte]))


FLIP_BIT = Verb(
    name="flip-bit",
    undo="restore-bit",
    done="hit by a flipped bit on disk",
    effects=Effects(alters_stored_bytes=True),
    needs=(Disks,),
    holds="process",
    hits=BROKERS,
    inject=_flip,
    proof_in_force=_flipped,
    heal=_restore,
    healed=_restored,
)
