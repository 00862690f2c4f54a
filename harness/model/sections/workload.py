"""The workload: what the workers do, and their clients' configurations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from harness.model.sections.members import MemberPart, Milliseconds
from harness.model.sections.part import Count, Length, Part, Value, ZeroOrMore

DeathPoint = Literal["before-process", "before-commit"]
KINDS_OF_KEYS: Final = ("none", "per-record")
NO_KEYS: Final = KINDS_OF_KEYS[0]
LEAST_BYTES, MOST_BYTES = 20, 100_000_000
MOST_KEYS = 1_000_000
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})")
Sizes = int | str | tuple[int, ...]


def sizes_of(value_bytes: int | str | Sequence[int]) -> list[tuple[int, int]]:
    """The lengths of records as ranges, each as likely: 100 is one, "20..900" one, a list one an
    entry. Raises ValueError."""
    if isinstance(value_bytes, str):
        bounds = _RANGE.fullmatch(value_bytes)
        ranges = [(int(bounds[1]), int(bounds[2]))] if bounds else []
    else:
        lengths = [value_bytes] if isinstance(value_bytes, int) else value_bytes
        ranges = [(length, length) for length in lengths]
    if not ranges or not all(LEAST_BYTES <= low <= high <= MOST_BYTES for low, high in ranges):
        raise ValueError(
            f"write a whole number from {LEAST_BYTES} to {MOST_BYTES:,}, a range of these as in "
            '"100..2000", or a list of some'
        )
    return ranges


def mean_bytes(value_bytes: int | str | Sequence[int]) -> float:
    """How long a record is on average. Raises ValueError."""
    sizes = sizes_of(value_bytes)
    return sum(low + high for low, high in sizes) / 2 / len(sizes)


def _are_sizes(given: Any) -> Any:
    listed = tuple(given) if isinstance(given, list | tuple) else (given,)
    whole = all(isinstance(length, int) and not isinstance(length, bool) for length in listed)
    sizes_of(given if whole or isinstance(given, str) else ())
    return listed if isinstance(given, list) else given


def _are_keys(given: Any) -> Any:
    if given in KINDS_OF_KEYS or (type(given) is int and 1 <= given <= MOST_KEYS):
        return given
    raise ValueError(
        f'write "none", "per-record" or a whole number of keys, from 1 to {MOST_KEYS:,}'
    )


class WorkloadPart(Part):
    """What the workers do: `write-read` or `stream`.

    A description that begins with a kind tells that its key counts for that kind alone.
    """

    kind: Annotated[
        Literal["write-read", "stream"],
        Field(
            description="`write-read`: one record at a time, each looked up after its ack; "
            "`stream`: producers send at a rate, consumers follow the log",
            examples=["stream"],
        ),
    ]
    rounds: Annotated[
        Count,
        Field(description="`write-read`: how many records are sent", examples=[2000]),
    ] = 10_000
    read_via: Annotated[
        Literal["bootstrap", "follower"],
        Field(
            description="`write-read`: whether the leader serves reads, or a follower "
            "(KIP-392; not on existing clusters)",
            examples=["follower"],
        ),
    ] = "bootstrap"
    read_deadline_ms: Annotated[
        Count,
        Field(
            description="`write-read`: how long an acknowledged record is looked for before the "
            "next is sent; not found by then: a `stale-read`",
            examples=[500],
        ),
    ] = 1000
    producers: Annotated[Count, Field(description="`stream`: how many producers", examples=[2])] = 1
    consumers: Annotated[
        ZeroOrMore,
        Field(description="`stream`: how many consumers follow the whole log", examples=[2]),
    ] = 1
    rate: Annotated[
        float,
        Field(
            gt=0,
            le=1_000_000,
            description="`stream`: how many records each producer sends, whatever the cluster does",
            examples=[500],
            json_schema_extra={"unit": "records/s"},
        ),
    ] = 1000.0
    duration_s: Annotated[
        Length,
        Field(
            description="`stream`: how long producers send, and until the last fault is healed",
            examples=[30],
        ),
    ] = 20.0
    value_bytes: Annotated[
        Sizes,
        Field(
            description="how long each record is at least (what it tells takes some 50), at most "
            '100,000,000: a number, a range as in `"100..2000"`, or a list of which each is as '
            "likely; also above what client or broker take",
            examples=["100..2000"],
        ),
        BeforeValidator(_are_sizes),
    ] = 100
    keys: Annotated[
        Literal["none", "per-record"] | Annotated[int, Field(ge=1, le=MOST_KEYS)],
        BeforeValidator(_are_keys),
        Field(
            description="the records' keys: `none`, another one for each record (`per-record`), or "
            "so many, drawn by Zipf's law (the k-th is a k-th as frequent as the first)",
            examples=[1000],
        ),
    ] = NO_KEYS
    tombstones: Annotated[
        float,
        Field(
            ge=0,
            lt=1,
            description="with a number of `workload.keys`: this share of the records, drawn at "
            "random by the run's seed, has no value and so deletes its key from a compacted topic",
            examples=[0.1],
            json_schema_extra={"unit": "share"},
        ),
    ] = 0.0
    record: Annotated[
        str,
        Field(
            description="`stream`: the text of each record, instead of the harness's own; `$value` "
            "stands for the number that tells it from all others, and is there once",
            examples=['{"order_id": $value}'],
        ),
    ] = ""
    record_file: Annotated[
        str,
        Field(
            description="`stream`: a file of such texts, one a line, which are sent in turn",
            examples=["orders.jsonl"],
        ),
    ] = ""
    key: Annotated[
        str,
        Field(
            description="with `workload.record` or `workload.record_file`: each record's key, in "
            "which `$value` may stand",
            examples=["$value"],
        ),
    ] = ""
    headers: dict[str, str] = Field(
        default={},
        description="with these, too: each record's headers, in whose values `$value` may stand",
        examples=[{"source": "shop"}],
    )
    partitioner: Annotated[
        Literal["ours", "java", "librdkafka"],
        Field(
            description="who chooses a record's partition: `ours`, they take turns; `java` or "
            "`librdkafka`, by the key as these clients do by default, and without one as they do, "
            "from all partitions",
            examples=["java"],
        ),
    ] = "ours"
    when_full: Annotated[
        Literal["fail", "wait"],
        Field(
            description="what a send does when the producer's queue is full: it fails at once, as "
            "in librdkafka, or waits for room, as in Java; unset, it waits where a Java "
            "producer's file is brought",
            examples=["wait"],
        ),
    ] = "fail"
    max_block_ms: Annotated[
        ZeroOrMore,
        Field(
            description='with `when_full = "wait"`: how long a send waits before it fails, as '
            "Java's `max.block.ms`",
            examples=[5000],
        ),
    ] = 60_000
    longest_outage_s: Annotated[
        Length,
        Field(
            description="`stream`: how long a producer's queue must hold what cannot be sent",
            examples=[60],
        ),
    ] = 30.0
    transaction_sends: Annotated[
        Count,
        Field(
            description='with `workload.producer."transactional.id"`: sends in a transaction at '
            "most",
            examples=[10],
            json_schema_extra={"unit": "records"},
        ),
    ] = 100
    transaction_abort_every: Annotated[
        ZeroOrMore,
        Field(
            description="each so many-th transaction is aborted on purpose; 0: none is",
            examples=[5],
            json_schema_extra={"unit": "transactions"},
        ),
    ] = 0
    transaction_abort_share: Annotated[
        float,
        Field(
            ge=0,
            lt=1,
            description="this share of the transactions is aborted on purpose, at random by the "
            "run's seed",
            examples=[0.1],
            json_schema_extra={"unit": "share"},
        ),
    ] = 0.0
    group_consumers: Annotated[
        ZeroOrMore,
        Field(
            description="`stream`: how many members of one consumer group beside `consumers`",
            examples=[2],
        ),
    ] = 0
    transformers: Annotated[
        ZeroOrMore,
        Field(
            description="`stream`: how many members of one consumer group that send an output for "
            "each record of a producer, into the same topic",
            examples=[2],
        ),
    ] = 0
    use_added_partitions: Annotated[
        bool,
        Field(
            description="`stream`: whether producers and consumers use partitions that a fault "
            "adds, within about a second; members of a group learn of them as their client "
            "refreshes metadata (`topic.metadata.refresh.interval.ms`)",
            examples=[True],
        ),
    ] = False
    # A key that asks for workers of a new kind goes here.
    commit: Annotated[
        Literal["auto", "before", "after", "transaction"],
        Field(
            description="`stream`: when a member commits: before or after it processes a batch, "
            "as the client does by itself (`auto`), or with outputs (`transaction`)",
            examples=["auto"],
        ),
    ] = "after"
    batch: Annotated[
        Count,
        Field(
            description="`stream`: how many records a member takes at a time",
            examples=[10],
            json_schema_extra={"unit": "records"},
        ),
    ] = 50
    process_ms: Annotated[
        Milliseconds,
        Field(description="`stream`: how long a member processes each record", examples=[1]),
    ] = 0.0
    dies: Annotated[
        tuple[DeathPoint, ...],
        Field(
            strict=False,
            description="`stream`: where the first member ends itself by SIGKILL, then its "
            "successor, …",
            examples=[["before-process", "before-commit"]],
        ),
    ] = ()
    dies_after: Annotated[
        Count,
        Field(
            description="`stream`: how many records each of these has polled before",
            examples=[1500],
            json_schema_extra={"unit": "records"},
        ),
    ] = 1000
    members: Annotated[
        tuple[MemberPart, ...],
        Field(
            strict=False,
            description="what single members of the group have of their own, an entry each",
            examples=[({"slow_every": 100, "slow_ms": 5000},)],
        ),
    ] = ()
    client_defaults: Annotated[
        Literal["java", "librdkafka"] | None,
        Field(
            description="whose defaults hold where nobody says otherwise: `java`, the Java "
            "client's, or `librdkafka`, of all clients built on it; unset: as the names in a file "
            "that is brought tell, else `java`",
            examples=["librdkafka"],
        ),
    ] = None
    producer: dict[str, Value] = Field(
        default={},
        description="the producers' configuration, in librdkafka's keys; of one that is brought "
        "as a file, only the times of this section stay",
        examples=[{"acks": "all", "linger.ms": 5}],
    )
    consumer: dict[str, Value] = Field(
        default={},
        description="the consumers' configuration, in librdkafka's keys; the final read's too. "
        "`{index}` in a value is the worker's number",
        examples=[{"isolation.level": "read_committed"}],
    )

    @property
    def has_texts(self) -> bool:
        """Whether records are texts of the user's."""
        return bool(self.record or self.record_file)

    @property
    def stream_sends(self) -> float:
        """How many records `stream` means to send."""
        return self.rate * self.producers * self.duration_s
