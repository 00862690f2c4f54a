"""docs/promises.md: every row of every checker's promises, in the order that decides.

    python -m scripts.promises_page     writes it

Anomalies seen are kept apart from anomalies forbidden; a scenario's [expect] can demand more, never
excuse (analysis.verdict.demands).
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator

from analysis.anomalies import ANOMALIES
from analysis.checks.anomaly import IN_EVERY_RUN, Anomaly
from harness.checkout import DOCS, ROOT

TESTS = ROOT / "tests/baseline/tests_of_causes.toml"

HEAD = """# Promises

Which records of an anomaly a configuration permits, and given what happened.
A row that permits says which records: those that have such a cause of their own, \
in their own partition.
The rows are read from the top, up to the first that forbids and whose condition holds: \
**what no row before it permits is forbidden**.

How causes are found:

- Who led and who was in the ISR is what the views saw (docs/history.md).
  A change is seen late, so it counts from the view that first shows it.
  The same leader in the next epoch is no other leader, and no leader is none.
- A *stale leader*, which was replaced and has not learned of it, acknowledges on, and no record \
says who acknowledged a send.
  So sends that began before its *end* count as before the change.
  Its end is the first of: its process is proved ended; it leads again; it is in an ISR after one \
without it; it was in every ISR for 1.5 times `replica.lag.time.max.ms`, \
without blind time and faults that can hide that it does not fetch.
- An *unclean election* is one of a broker outside the ISR, where that is allowed at that moment.
  It permits a record only if that broker was outside an ISR of the time between the send's begin \
and its ack, and in none seen from the ack to the election: \
who was in one had the record, and lacking it is the bug to look for.
- A *strike* is a fault that takes what a node had written (`takes` in docs/faults.md): \
`all`, or only what was not synced (`unsynced`), which is nothing under `flush.messages=1`.
  It counts where it hit every member of an ISR seen from its begin until it was done, \
by itself or with others that were not healed yet; \
or where a struck broker led anew before it had left the ISR and come back.
  A flipped bit counts as one when its broker starts anew before the bit was put back.
  Where a fault itself starts what it ended (docs/faults.md), what was begun meanwhile is in doubt.
- Where KRaft remembers *eligible leaders* (KIP-966: from 4.1 on, in 4.0 where that is asked for), \
who is in the ELR counts as in the ISR: it has all that is committed, so its election is clean, \
and a strike must have hit ISR and ELR.
  The last known leader, whom Kafka elects where both are empty, is the same leader in another \
epoch: it permits nothing, unless it was struck.
  Where the views do not tell the ELR, and there may have been one, both are in doubt.
- With KRaft the controllers' own setting allows unclean elections, from 3.9 on; \
one that an operator asks for is one on every release.
- A *controller's lost disk* (KRaft) permits that committed metadata goes back, and nothing else \
by itself.
  Where the committed metadata of a partition went back after it, who was outside ISR and ELR \
until then, and comes to lead before it has left the ISR and come back, \
counts as elected uncleanly; where nobody saw whether it went back, that is in doubt.
  With dynamic voters there is no such loss while a majority of them keeps its disks.
- A setting that was changed at run time counts while it was in force.

Where nobody saw who led, or it is not known what a fault can do (`effects` in docs/faults.md), \
a record that some possible answer would permit is *in doubt*, and the run unknown.
A record that nothing could permit is forbidden, whoever was blind.

"""


TABLE = ("| when | | which records | why | source |", "|---|---|---|---|---|")


def render() -> str:
    """The whole page."""
    lines = [
        f"{HEAD}{_judged_only()}",
        "",
        "This page is generated from the files of `analysis/checks/`"
        " by `python -m scripts.promises_page`.",
        "",
        *(line for anomaly in ANOMALIES for line in _table(anomaly)),
        *_pairs(),
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
    yield from (f"## {anomaly.name}", "", *TABLE)
    for row in anomaly.promises:
        verdict = "forbidden" if row.by is None else "permitted"
        records = "all others" if row.by is None else row.by.records
        yield f"| {row.when} | **{verdict}** | {records} | {row.why} | {row.source} |"
    yield ""


BASELINE = "baseline/test_baseline.py::test_the_promises_of_every_verb_at_every_target_stay"


def pairs() -> dict[tuple[str, str], list[str]]:
    """By cause and anomaly: under which conditions the cause permits it, or puts it in doubt."""
    found: dict[tuple[str, str], list[str]] = {}
    for anomaly in ANOMALIES:
        for row in anomaly.promises:
            if row.by is not None:
                found.setdefault((row.by.name, anomaly.name), []).append(row.when)
    return dict(sorted(found.items()))


def tests() -> dict[tuple[str, str], str]:
    """By cause and anomaly: the test that shows it, below tests/; others, BASELINE shows."""
    told = tomllib.loads(TESTS.read_text())
    return {(cause, name): test for cause, each in told.items() for name, test in each.items()}


def _pairs() -> Iterator[str]:
    rows = (row for anomaly in ANOMALIES for row in anomaly.promises)
    kinds = {row.by.name: row.by.records for row in rows if row.by is not None}
    yield from (
        "## Which cause permits what",
        "",
        "A cause and an anomaly that do not stand here together: that cause permits none of it.",
        "Each test is below `tests/`, and a twin that nothing permits beside it; "
        "that of the baseline holds every verb at every target against "
        "`tests/baseline/promises.txt`.",
        "",
        *("| cause | which records |", "|---|---|"),
    )
    yield from (f"| {name} | {records} |" for name, records in sorted(kinds.items()))
    yield from ("", *("| cause | anomaly | where | test |", "|---|---|---|---|"))
    shown = tests()
    for (cause, anomaly), where in pairs().items():
        test = shown.get((cause, anomaly), BASELINE)
        yield f"| {cause} | {anomaly} | {'; '.join(where)} | `{test}` |"
    yield ""


if __name__ == "__main__":
    page = DOCS / "promises.md"
    page.write_text(render())
    sys.stdout.write(f"{page} written\n")
