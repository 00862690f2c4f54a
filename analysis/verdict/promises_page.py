"""docs/promises.md: every row of every checker's promises, in the order that decides.

    python -m analysis.verdict.promises_page     writes it

Anomalies seen are kept apart from anomalies forbidden; a scenario's [expect] can demand more, never
excuse (analysis.verdict.demands).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from analysis.anomalies import ANOMALIES
from analysis.checks.anomaly import IN_EVERY_RUN, Anomaly
from harness.checkout import DOCS

HEAD = """# Promises

Which anomalies a configuration forbids, given the faults that were injected.
For each anomaly the first row whose condition holds decides; \
what is not listed as permitted is forbidden.
Each verb says what its fault can do, by option and target; \
a run keeps these effects in the plan of its `run.json`, docs/faults.md lists them:

- `leadership`: a fault that can move leadership counts with more than one replica.
  With `anywhere` it counts whichever node was hit.
  With `where-it-hits` it counts where a leader was hit, or half of the ZooKeepers or more at a \
time, or where leadership was seen to move: \
killing a single ZooKeeper, a follower or a worker does not move leadership.
  With `if-seen` (bad links only between a node and the clients) it counts where \
leadership was seen to move: brokers and ZooKeeper still reach each other.
- `takes`: a fault that destroys data on a node destroys `all`, or only what was not synced \
(`unsynced`).
- `alters_stored_bytes`: a bit flipped on disk.
- `topic_settings`: a setting that was changed at run time counts as the least safe value that it \
had.

A fault whose effects are not known permits nothing.
Where it could permit what was seen, the verdict is unknown.

"""


def render() -> str:
    """The whole page."""
    lines = [
        f"{HEAD}{_judged_only()}",
        "",
        "This page is generated from the files of `analysis/checks/`"
        " by `python -m analysis.verdict.promises_page`.",
        "",
        *(line for anomaly in ANOMALIES for line in _table(anomaly)),
    ]
    return "\n".join(lines)


def _judged_only() -> str:
    """The anomalies that not every run can have: `diverged are judged only where …`."""
    names: dict[str, list[str]] = {}
    for anomaly in ANOMALIES:
        if anomaly.judged is not IN_EVERY_RUN:
            names.setdefault(anomaly.judged.words, []).append(anomaly.name)
    parts = [f"{' and '.join(each)} only {where}" for where, each in names.items()]
    parts[0] = parts[0].replace(" only ", " are judged only ", 1)
    return f"{', '.join(parts)}."


def _table(anomaly: Anomaly) -> Iterator[str]:
    yield from (f"## {anomaly.name}", "", "| when | | why | source |", "|---|---|---|---|")
    for row in anomaly.promises:
        verdict = "forbidden" if row.forbidden else "permitted"
        yield f"| {row.when} | **{verdict}** | {row.why} | {row.source} |"
    yield ""


if __name__ == "__main__":
    page = DOCS / "promises.md"
    page.write_text(render())
    sys.stdout.write(f"{page} written\n")
