"""Reads a member's generation, and the name that the coordinator gave it, from its group metadata.

The client's group metadata are bytes: a word for the format, the generation (int32, little endian),
the group's and the member's names, each with a final zero. Source:
rd_kafka_consumer_group_metadata_write in rdkafka_cgrp.c.
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


def parse_membership(metadata: object) -> Membership:
    """The membership in group metadata; OUTSIDE where the format is unknown."""
    if not isinstance(metadata, bytes) or not metadata.startswith(_BEGINS):
        return OUTSIDE
    data = metadata[len(_BEGINS) :]
    names = data[_GENERATION.size :].split(b"\0")
    if len(data) < _GENERATION.size or len(names) < 2:
        return OUTSIDE
    generation: int = _GENERATION.unpack_from(data)[0]
    return Membership(max(generation, NOTHING), names[1].decode(errors="replace"))
