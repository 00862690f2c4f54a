"""Runs of one experiment: of one Kafka, client, backend and class of machine. Runs of a cell that
differ in these have rows of their own.

    Kafka 3.9.2, librdkafka 2.16.0, local, 2 CPUs, 24 GiB

Memory is in whole GiB. Kernel, Java and commits may differ. Runs from a commit with uncommitted
changes (`dirty`) stay among the others, with their number beside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.studies.cells.shares import counts, share
from harness.model.campaigns.ledger_line import Line

GIB = 2**30
NOT_TOLD = "not told"


def experiment(line: Line) -> str:
    """The experiment of a run, in words."""
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


def differing_parts(lines: Iterable[Line]) -> list[str]:
    """In what runs of different experiments differ: `Kafka 3.9.2 and Kafka 4.0.0`. What an older
    line lacks differs from nothing."""
    parts = [dict.fromkeys(values) for values in zip(*map(_parts, lines), strict=True)]
    known = [[part for part in values if not part.endswith(NOT_TOLD)] for values in parts]
    return [" and ".join(values) for values in known if len(values) > 1]


def by_experiment(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The runs of each experiment, in the order of their first ones."""
    runs: dict[str, list[Line]] = {}
    for line in lines:
        runs.setdefault(experiment(line), []).append(line)
    return runs


def of_commits(lines: Sequence[Line]) -> dict[str, str]:
    """{dirty, clean_lost, clean_duplicate}: how many are from a dirty commit and, where some are,
    the shares of the others in which an anomaly was seen."""
    clean = [line for line in lines if not _is_dirty(line)]
    cells = {"dirty": str(len(lines) - len(clean))}
    for anomaly in ("lost", "duplicate"):
        seen = counts(clean, anomaly)
        mixed = 0 < len(clean) < len(lines)
        cells[f"clean_{anomaly}"] = share(seen) if mixed and seen else "—"
    return cells


def _is_dirty(line: Line) -> bool:
    return str((line.get("versions") or {}).get("kafka_harness_commit", "")).endswith(" dirty")
