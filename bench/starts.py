"""What KRaft costs a start, what its class archive saves: `python -m bench.starts [--rounds N]`.

In each round a local cluster of each kind is started once, in turns, until its view says that the
ISR is full; then its run is interrupted. Told are medians over the rounds with minimum and maximum.
The bars are on ratios of starts of one round, which a busy machine slows alike: their median, and
again minimum and maximum.

    zookeeper 3.9.2              3 ZooKeepers and 3 brokers
    kraft 3.9.2, 4.4.0           3 controllers and 3 brokers
    combined 3.9.2, 4.4.0        3 nodes that are both
    kraft … without archive      Java's own class archive alone

    start, CPU, memory    as bench.backends has them
    waited                how much of the time some process of the machine waited for a CPU, while
                          the cluster was started

What is formatted and trained once for all runs is so before the first round.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.backends import BackendUnderTest, Row, cold_start_s, isr_is_full, running, sampled, why
from harness.checkout import ROOT
from harness.cluster.local.backend import storage_of
from harness.distribution import class_archives
from harness.distribution.kafka_home import fetch
from harness.host.java import find_java
from harness.model.exit_codes import FAILED
from harness.model.runs.run_folder import RunFolder
from harness.model.sections.cluster import ClusterPart
from harness.model.sections.kafka_releases import DEFAULT, NEWEST, Metadata

ROWS = {
    "start": Row(name="start", unit="s"),
    "cpu": Row(name="CPU", unit="s"),
    "memory": Row(name="memory", unit="MiB", digits=0),
    "waited": Row(name="waited", unit="%", digits=0),
}
Start = dict[str, float]  # a value for each row


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of cluster."""

    name: str
    metadata: Metadata
    kafka: str = DEFAULT
    archived: bool = True

    @property
    def cluster(self) -> ClusterPart:
        """As a scenario has it."""
        return ClusterPart(kafka=self.kafka, metadata=self.metadata)

    def runs(self) -> BackendUnderTest:
        """How its runs are started."""
        # Java takes this variable's words last, so that they count.
        java = find_java().path.resolve().parents[1] / "lib" / "server" / "classes.jsa"
        own = ("env", f"_JAVA_OPTIONS=-XX:SharedArchiveFile={java}")
        return BackendUnderTest(
            name=self.name,
            backend="local",
            way=() if self.archived else own,
            settings=(f"cluster.kafka={self.kafka}", f"cluster.metadata={self.metadata}"),
        )


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A kind's start may take at most so many times another's, in time and in CPU."""

    of: str
    beside: str
    most: float

    def told(self, rounds: Sequence[dict[str, Start]], row: str) -> tuple[str, bool] | None:
        """What was measured, and whether it is met; None where nothing was."""
        pairs = [(each[self.of], each[self.beside]) for each in rounds if self._in(each)]
        ratios = [own[row] / other[row] for own, other in pairs if row in own and row in other]
        if not ratios:
            return None
        middle = statistics.median(ratios)
        sentence = (
            f"{ROWS[row].name} of {self.of} ≤ {self.most} x {self.beside}: {middle:.2f} "
            f"({min(ratios):.2f}–{max(ratios):.2f}), n = {len(ratios)}"
        )
        return sentence, middle <= self.most

    def _in(self, each: dict[str, Start]) -> bool:
        return {self.of, self.beside} <= each.keys()


ZOOKEEPER = Kind(name=f"zookeeper {DEFAULT}", metadata="zookeeper")
KRAFT = [Kind(name=f"kraft {each}", metadata="kraft", kafka=each) for each in (DEFAULT, NEWEST)]
COMBINED = [
    Kind(name=f"combined {each}", metadata="kraft-combined", kafka=each)
    for each in (DEFAULT, NEWEST)
]
UNARCHIVED = [
    Kind(name=f"{each.name} without archive", metadata="kraft", kafka=each.kafka, archived=False)
    for each in KRAFT
]
BARS = [
    *(Bar(of=each.name, beside=ZOOKEEPER.name, most=1.7) for each in KRAFT),
    *(Bar(of=each.name, beside=ZOOKEEPER.name, most=1.1) for each in COMBINED),
    *(Bar(of=a.name, beside=b.name, most=0.65) for a, b in zip(KRAFT, UNARCHIVED, strict=True)),
]
KINDS = [ZOOKEEPER, *KRAFT, *COMBINED, *UNARCHIVED]


def make_ready(kind: Kind) -> None:
    """Fetch, train and format what its runs find there. Raises HostError."""
    home, java = fetch(kind.kafka), find_java()
    class_archives.ensure(home, java, metadata=kind.metadata)
    storage_of(home, java, kind.cluster)


def start_of(kind: Kind, seed: int) -> tuple[Start, str]:
    """What a start took; why nothing was measured, if so."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        results, backend = Path(name), kind.runs()
        with running(backend, seed, results) as process:
            if process.poll() is not None or not isr_is_full(results):
                process.terminate()
                return {}, why(results, process.communicate()[0])
            start = sampled(backend, process.pid, results)
            process.terminate()
            process.communicate()
        folder = (results / "latest").resolve()
        record = RunFolder(path=folder).read()
        start["start"] = cold_start_s(folder, record) or 0.0
        starved = record.phases[0].cpu_starvation
        return start | {"waited": starved.pressure_some_percent if starved else 0.0}, ""


def table() -> Table:
    """A row for each kind, a column for each measure."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("median (range)")
    for row in ROWS.values():
        shown.add_column(f"{row.name}, {row.unit}", justify="right")
    for kind in KINDS:
        shown.add_row(kind.name, *(row.shown(kind.name) for row in ROWS.values()))
    return shown


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a bar is not met, 255 when nothing could be measured."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.starts", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=5)
    asked, console = parser.parse_args(argv), Console(highlight=False, soft_wrap=True)
    os.environ.setdefault("PYTHONPATH", str(ROOT))
    for kind in KINDS:
        make_ready(kind)
    rounds: list[dict[str, Start]] = []
    with suppress(KeyboardInterrupt):  # what was measured until then is told
        for number, kind in product(range(asked.rounds), KINDS):
            if kind is KINDS[0]:
                rounds.append({})
            start, not_so = start_of(kind, number)
            for row, value in start.items():
                rounds[-1].setdefault(kind.name, {})[row] = value
                ROWS[row].add(kind.name, value)
            console.print(f"round {number + 1}, {kind.name}: {not_so or 'measured'}")
    if not any(rounds):
        return FAILED
    console.print(table())
    results = [told for bar in BARS for row in ("start", "cpu") if (told := bar.told(rounds, row))]
    for sentence, met in results:
        console.print(f"{'met' if met else 'NOT met'}: {sentence}", style="" if met else "red")
    return 0 if all(met for _, met in results) else 1


if __name__ == "__main__":
    sys.exit(main())
