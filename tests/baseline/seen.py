"""What is seen of the cluster in a situation of the baseline: rows of the table of views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.baseline.configurations import Configuration, Row

BROKERS = ("kafka1", "kafka2", "kafka3")
# A leader alone in its ISR; who leads next, or again, and the ISR and the ELR that are seen then.
ALONE = ("kafka1", ("kafka1",), ())


def views(
    leaders: Mapping[str, Sequence[str | None]],
    seen_ns: Sequence[int],
    configuration: Configuration,
    *,
    alone: bool,
    dark: bool,
) -> list[Row]:
    """A row for each leader of a partition, seen then; `alone` in its ISR; `dark`: no second."""
    rows = [
        _row(int(partition), number, name, seen_ns[number], configuration)
        | {"isr": [name or names[0]] if alone else list(BROKERS)}
        | {"since_ns": 0 if dark else max(0, seen_ns[number] - 1)}
        for partition, names in leaders.items()
        for number, name in enumerate(names)
        if not dark or number != 1
    ]
    return [row | {"elr": []} for row in rows] if configuration.kraft else rows


def of_kraft(
    seen: Sequence[tuple[str | None, Sequence[str], Sequence[str]]],
    seen_ns: Sequence[int],
    configuration: Configuration,
    *,
    went_back: int | None = None,
) -> list[Row]:
    """A row for each leader, ISR and ELR; before one of them the metadata `went_back`."""
    return [
        _row(0, number, leader, time_ns, configuration)
        | {"isr": list(isr), "elr": list(elr), "went_back": True if number == went_back else None}
        for number, ((leader, isr, elr), time_ns) in enumerate(zip(seen, seen_ns, strict=True))
    ]


ELIGIBLE_LEADS = (
    ("kafka1", ("kafka1",), ("kafka2",)),
    (None, (), ("kafka1", "kafka2")),
    ("kafka2", ("kafka2",), ("kafka1",)),
)
LAST_KNOWN_LEADS = (ALONE, (None, (), ()), ALONE)
OLD_ISR_LEADS = (ALONE, ("kafka1", BROKERS, ()), ("kafka2", BROKERS[1:], ()))


def _row(
    partition: int, number: int, leader: str | None, time_ns: int, configuration: Configuration
) -> Row:
    return {
        "since_ns": max(0, time_ns - 1),
        "time_ns": time_ns,
        "partition": partition,
        "leader": leader,
        "leader_epoch": number,
        "controller": configuration.controls,
    }
