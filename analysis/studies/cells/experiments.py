"""Runs of one experiment: of one Kafka, client, backend and class of machine. Others of the same
cell have rows of their own, since what differs may be what a number shows.

    Kafka 3.9.2, librdkafka 2.16.0, local, 2 CPUs, 24 GiB

Memory is in whole GiB. Kernel, Java and commits may differ; runs from a commit with changes that
nobody has kept (`dirty`) stay among the others, counted beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.studies.cells.shares import counts, share
from harness.model.campaigns.ledger_line import Line

GIB = 2**30
NOT_TOLD = "not told"


def experiment(line: Line) -> str:
    """What a run is of, in words."""
    return ", ".join(_parts(line))


def _parts(line: Line) -> tuple[str, ...]:
    host, versions = line.get("host") or {}, line.get("versions") or {}
    memory, cpus = host.get("memory_bytes"), host.get("cpus")
    return (
        f"Kafka {line.get('kafka') or NOT_TOLD}",
        f"librdkafka {versions.get('librdkafka') or NOT_TOLD}",
        str(line.get("backend") or "local"),
        f"CPUs {NOT_TOLD}" if cpus is None else f"{cpus} CPUs",
        f"memory {NOT_TOLD}" if memory is None else f"{memory / GIB:.0f} GiB",
    )


def several(lines: Iterable[Line]) -> list[str]:
    """What contradicts that runs are of one experiment: `Kafka 3.9.2 and Kafka 4.0.0`. What older
    lines do not tell contradicts nothing."""
    told = [dict.fromkeys(each) for each in zip(*map(_parts, lines), strict=True)]
    known = [[part for part in each if not part.endswith(NOT_TOLD)] for each in told]
    return [" and ".join(each) for each in known if len(each) > 1]


def by_experiment(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The runs of each, in the order of their first ones."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(experiment(line), []).append(line)
    return found


def of_commits(lines: Sequence[Line]) -> dict[str, str]:
    """How many are from a dirty commit and, where these are some and not all, in how many of the
    others an anomaly was seen: {dirty, clean_lost, clean_duplicate}."""
    clean = [line for line in lines if not _is_dirty(line)]
    told = {"dirty": str(len(lines) - len(clean))}
    for anomaly in ("lost", "duplicate"):
        seen = counts(clean, anomaly)
        mixed = 0 < len(clean) < len(lines)
        told[f"clean_{anomaly}"] = share(seen) if mixed and seen else "—"
    return told


def _is_dirty(line: Line) -> bool:
    return str((line.get("versions") or {}).get("kafka_harness_commit", "")).endswith(" dirty")
