"""What a member of a group knows of it: its generation, and the name that the coordinator gave it.

The client hands both out in its group metadata, bytes that begin with a word of the format, then
the generation (int32, little endian), then the group's and the member's names, each ended by a
zero. Source: rd_kafka_consumer_group_metadata_write in rdkafka_cgrp.c.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from harness.history.record_format import NOTHING

_BEGINS: Final = b"CGMDv2:"
_GENERATION: Final = struct.Struct("<i")


class Membership(NamedTuple):
    """A member's generation (NOTHING: none) and its name ("": none)."""

    generation: int
    member: str


OUTSIDE: Final = Membership(NOTHING, "")


def parsed(metadata: object) -> Membership:
    """What group metadata tells; nothing, where it is not in the form that is known here."""
    if not isinstance(metadata, bytes) or not metadata.startswith(_BEGINS):
        return OUTSIDE
    data = metadata[len(_BEGINS) :]
    names = data[_GENERATION.size :].split(b"\0")
    if len(data) < _GENERATION.size or len(names) < 2:
        return OUTSIDE
    generation: int = _GENERATION.unpack_from(data)[0]
    return Membership(max(generation, NOTHING), names[1].decode(errors="replace"))
