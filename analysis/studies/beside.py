"""The runs of a ledger that a page's tables leave out, cell by cell: the page names them, so that
its numbers were not chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from harness.model.campaigns.ledger import LedgerError, Lines, name_of
from harness.model.campaigns.ledger_line import Line

UNKNOWN = "unknown"
FAILED = 255


def beside(ledger: Lines) -> list[Mapping[str, str]]:
    """A row for each cell and backend with a superseded run, or one without verdict or result:
    {cell, backend, counted, superseded, unknown, failed, interrupted, without_cluster,
    reasons}."""
    aside = ledger.superseded
    sorts: Mapping[str, Iterable[Line]] = {
        "superseded": aside,
        "unknown": (line for line in ledger.standing if line.get("verdict") == UNKNOWN),
        "failed": (line for line in ledger.standing if line.get("exit") == FAILED),
        "interrupted": ledger.interrupted,
        "without_cluster": ledger.without_cluster,
    }
    counts = {sort: Counter(map(_place, lines)) for sort, lines in sorts.items()}
    counted = Counter(map(_place, ledger.standing))
    places = dict.fromkeys(place for counter in counts.values() for place in counter)
    return [
        {
            "cell": place[0],
            "backend": place[1],
            "counted": str(counted[place]),
            **{sort: str(counter[place]) for sort, counter in counts.items()},
            "superseded": _verdicts([line for line in aside if _place(line) == place]),
            "reasons": "; ".join(_reasons(ledger, place)),
        }
        for place in places
    ]


def require_one_configuration(data: Path, ledger: Lines) -> None:
    """Raise LedgerError where runs that count for one cell have different configurations."""
    seen: dict[str, str] = {}
    for line in ledger.standing:
        digest = line.get("configuration")
        if digest is not None and seen.setdefault(line["cell"], digest) != digest:
            raise LedgerError(
                f"{data}: the runs of {line['cell']} that count put different things to the test "
                f"(configuration {seen[line['cell']]} and {digest}): let lines of event superseded "
                "say of the older ones why they count no more, or give the cell another name"
            )


def _place(line: Line) -> tuple[str, str]:
    cell, backend, _, _ = name_of(line)
    return cell, backend


def _verdicts(lines: Sequence[Line]) -> str:
    """How many there are of each verdict: `2 valid, 1 unknown`."""
    counts = Counter(str(line.get("verdict", "not checked")) for line in lines)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "0"


def _reasons(ledger: Lines, place: tuple[str, str]) -> Sequence[str]:
    """Why runs of a cell count no more, each reason once."""
    whose = {name: why for name, why in ledger.reasons.items() if name[:2] == place}
    return list(dict.fromkeys(whose.values()))
