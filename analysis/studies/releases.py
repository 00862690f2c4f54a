"""docs/releases.md: every pinned Kafka in each mode that it has, from the runs' summaries.

    python -m analysis.studies.releases docs/releases.toml     writes releases.md beside it

Pure: campaign file + data file -> text. A row a release, newest first, a column a mode: what its
runs came to. A mode that the release does not have is empty; a list names runs without a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from analysis.studies.backends import unmet
from analysis.studies.beside import beside
from analysis.studies.cells.shares import checked, middle
from analysis.studies.pages import Cell, markdown_table, template, write_page
from harness.model.campaigns.ledger import Lines
from harness.model.campaigns.ledger_line import Line
from harness.model.sections.kafka_releases import DEFAULT, default_metadata, numbers

MODES = ("zookeeper", "kraft", "kraft-combined")


def release_of_line(line: Line) -> str:
    """The Kafka of a run; the default where its scenario names none."""
    return str((line["settings"] or {}).get("scenario.cluster.kafka", DEFAULT))


def mode_of(line: Line) -> str:
    """What keeps the metadata, in a scenario's words."""
    settings = line["settings"] or {}
    voters = settings.get("scenario.cluster.voters", "static")
    metadata = settings.get("scenario.cluster.metadata") or default_metadata(release_of_line(line))
    return metadata if voters == "static" else f"{metadata}, {voters} voters"


def outcome(runs: Sequence[Line]) -> str:
    """What the runs of one release and mode came to: `1 of 1 valid: 0 lost, 7 twice`."""
    if not runs:
        return ""
    valid = sum(line.get("verdict") == "valid" for line in runs)
    seen = checked(runs)
    lost, twice = (
        middle([line["anomalies"][name] for line in seen]) for name in ("lost", "duplicate")
    )
    words = f"{valid} of {len(runs)} valid"
    return f"{words}: {lost} lost, {twice} twice" if seen else words


def table(lines: Sequence[Line]) -> str:
    """A row a release, a column a mode."""
    cells = dict[tuple[str, str], list[Line]]()
    for line in lines:
        cells.setdefault((release_of_line(line), mode_of(line)), []).append(line)
    releases = sorted({release for release, _ in cells}, key=numbers, reverse=True)
    modes = [*MODES, *(f"{mode}, dynamic voters" for mode in MODES[1:])]
    return markdown_table(
        ["Kafka", *modes],
        (
            [release, *(outcome(cells.get((release, mode), ())) for mode in modes)]
            for release in releases
        ),
    )


def render(campaign: Cell, ledger: Lines) -> str:
    """The whole page."""
    lines = ledger.standing
    return template("releases.md.j2").render(
        table=table([line for line in lines if "settings" in line]),
        unmet=unmet(lines),
        shown=len(lines),
        seed=campaign["seed"],
        beside=beside(ledger),
    )


if __name__ == "__main__":
    write_page(render)
