"""The backends beside each other: `python -m bench.backends [--backends A,B] [--rounds N]`.

In each round bench/backends.toml is run once on each backend, in turns, so that a busy machine is
equally busy for all. Told are medians over the rounds (over all cuts, for cuts) with minimum and
maximum, and each backend's median as a multiple of local's. All times but the first two rows' are
read from the run's history.

    cold start            from nothing of the cluster to its view saying that the ISR is full
    CPU of that           user and system seconds of the nodes' processes, start scripts
                          included; not the engine's (dockerd, kubelet…), nor the harness's
    memory                their proportional set size at that moment: pages that several share are
                          shared out (class archives are, between nodes and other programs)
    cut: rules stand      from the nemesis's invoke until the last of its commands has returned, on
                          all nodes of the cut
    cut: proved           … until every receiver has counted packets of every sender
    cut: felt             … to the last ack before writes stand still: they need every replica
    mend: rules gone      from the nemesis's invoke of the healing until the last command returned
    mend: felt            … to the next ack; packets that were dropped are sent again only after a
                          time that doubles, at most about a second here
    failover              leader killed: from the last ack to the next one; the session is 4 s

CPU and memory need the nodes' processes on this machine, and root. A backend that is not available
is left out, with the reason. Where a backend's ports can only be dialled from a network namespace
(scripts/private-dockerd), `--way docker="nsenter --net --target PID"` goes before the command.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from harness.checkout import ROOT
from harness.cluster.backends import BACKENDS, absent
from harness.cluster.capabilities import Foreign
from harness.cluster.local.backend import nodes_of
from harness.cluster.nodes import ClusterError
from harness.model.exit_codes import FAILED
from harness.model.runs.run_folder import RunFolder, StoreError
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import Scenario, WorkloadPart
from harness.scenario.overrides import parse_override
from harness.waiting import WaitTimeout, wait_until

# A cluster that is there already has no start, and no nodes of ours.
ANY = Scenario(title="any", workload=WorkloadPart(kind="stream"))
STARTED_HERE = [name for name, each in BACKENDS.items() if Foreign not in each.capabilities(ANY)]
SCENARIO = ROOT / "bench" / "backends.toml"
REPLICAS = 3
START_LIMIT_S, RUN_LIMIT_S = 300.0, 600.0
COLD_START_RATIO, CUT_LIMIT_S = 2.5, 0.5  # what we ask of docker, and of a cut anywhere
CUTS, KILL = (0, 1, 2), 3  # steps of the plan
NS = 1e9


@dataclass(frozen=True, kw_only=True)
class BackendUnderTest:
    """A backend, how its runs are started, and the name of its column."""

    name: str
    backend: str
    way: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    def argv(self, results: Path, seed: int) -> list[str]:
        """The command of one run."""
        sets = [word for each in self.settings for word in ("--set", each)]
        return [
            *self.way,
            sys.executable,
            "-P",
            "-m",
            "harness.cli",
            "run",
            str(SCENARIO),
            "--no-check",
            "--backend",
            self.backend,
            "--seed",
            str(seed),
            "--results",
            str(results),
            *sets,
        ]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measure: its name, its unit, and its values per backend."""

    name: str
    unit: str
    digits: int = 2
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, backend: str, *values: float | None) -> None:
        """Add what was measured, if it was."""
        self.values.setdefault(backend, []).extend(v for v in values if v is not None)

    def median(self, backend: str) -> float | None:
        """Over everything that was measured there."""
        values = self.values.get(backend)
        return statistics.median(values) if values else None

    def most(self, backend: str) -> float | None:
        """The worst one."""
        return max(self.values.get(backend, ()), default=None)

    def shown(self, backend: str) -> str:
        """Median and range."""
        if not (values := self.values.get(backend)):
            return "—"
        middle, least, most = statistics.median(values), min(values), max(values)
        return f"{middle:.{self.digits}f} ({least:.{self.digits}f}–{most:.{self.digits}f})"

    def ratio(self, backend: str) -> str:
        """The backend's median as a multiple of local's."""
        own, local = self.median(backend), self.median("local")
        return f"{own / local:.2f}" if own is not None and local and local > 0 else "—"


ROWS = {
    "start": Row(name="cold start", unit="s"),
    "cpu": Row(name="CPU of that", unit="s"),
    "memory": Row(name="memory", unit="MiB", digits=0),
    "stands": Row(name="cut: rules stand", unit="s", digits=3),
    "proved": Row(name="cut: proved", unit="s", digits=3),
    "felt": Row(name="cut: felt", unit="s", digits=3),
    "gone": Row(name="mend: rules gone", unit="s", digits=3),
    "mended": Row(name="mend: felt", unit="s", digits=3),
    "failover": Row(name="failover", unit="s"),
}


# What is read from a run


def full_isr_ns(folder: Path) -> int | None:
    """When the view first showed a full ISR; None while it has not."""
    views = folder / "history" / "views.jsonl"
    for line in views.read_text().splitlines() if views.exists() else ():
        view = json.loads(line)
        if view["event"] == "view" and len(view["isr"]) == REPLICAS:
            return int(view["time_ns"])
    return None


def cold_start_s(folder: Path, record: RunRecord) -> float | None:
    """From the begin of set-up to the full ISR."""
    begin = next(phase.start_ns for phase in record.phases if phase.name == "set-up")
    full = full_isr_ns(folder)
    return None if full is None else (full - begin) / NS


def moments(folder: Path) -> dict[int, dict[str, int]]:
    """By step: when its injection and its healing were asked for, done on all nodes, and proved."""
    found: dict[int, dict[str, int]] = {}
    for text in (folder / "history" / "nemesis.jsonl").read_text().splitlines():
        line = json.loads(text)
        at = found.setdefault(line["step"], {})
        at[f"{line['event']}-{line['type']}"] = line["time_ns"]
        if line.get("done_ns"):
            at[f"{line['event']}-done"] = line["done_ns"]
    return found


def acks_ns(folder: Path) -> list[int]:
    """When each send was acknowledged, in order."""
    tables = (folder / "history" / "operations").glob("producer-*.parquet")
    rows = (pq.read_table(path, columns=["type", "end_ns"]).to_pydict() for path in tables)
    return sorted(
        end
        for row in rows
        for kind, end in zip(row["type"], row["end_ns"], strict=True)
        if kind == "ok"
    )


def stillness(acks: Sequence[int], begin_ns: int, end_ns: int) -> tuple[int, int] | None:
    """The longest stretch between two acks that has something of begin to end in it."""
    pairs = [(a, b) for a, b in pairwise(acks) if b > begin_ns and a < end_ns]
    return max(pairs, key=lambda pair: pair[1] - pair[0], default=None)


def read(backend: BackendUnderTest, folder: Path, rows: dict[str, Row]) -> None:
    """What a complete run's record and history tell."""
    record = RunFolder(path=folder).read()
    rows["start"].add(backend.name, cold_start_s(folder, record))
    acks, steps = acks_ns(folder), moments(folder)
    for step in CUTS:
        cut = steps[step]
        rows["stands"].add(backend.name, _from(cut, "inject-invoke", cut.get("inject-done")))
        rows["proved"].add(backend.name, _from(cut, "inject-invoke", cut.get("inject-ok")))
        rows["gone"].add(backend.name, _from(cut, "heal-invoke", cut.get("heal-done")))
        still = stillness(acks, cut["inject-invoke"], cut["heal-invoke"])
        rows["felt"].add(backend.name, _from(cut, "inject-invoke", still and still[0]))
        rows["mended"].add(backend.name, _from(cut, "heal-invoke", still and still[1]))
    still = stillness(acks, steps[KILL]["inject-invoke"], steps[KILL]["heal-invoke"])
    rows["failover"].add(backend.name, still and (still[1] - still[0]) / NS)


def _from(step: dict[str, int], event: str, until_ns: int | None) -> float | None:
    return None if until_ns is None or event not in step else (until_ns - step[event]) / NS


# The nodes' processes


def node_processes(backend: BackendUnderTest, run: int, record: RunRecord) -> list[psutil.Process]:
    """The nodes' processes on this machine; fewer than nodes where they are not all here."""
    if BACKENDS[backend.backend].enclosed:
        return [p for p in psutil.Process(run).children(recursive=True) if _is_java(p)]
    marks = BACKENDS[backend.backend].containers(record)
    return [p for p in psutil.process_iter() if _is_java(p) and _bears(p, marks)]


def _is_java(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.name() == "java")
    return False


def _bears(process: psutil.Process, marks: Iterable[str]) -> bool:
    with suppress(OSError):
        groups = Path(f"/proc/{process.pid}/cgroup").read_text()
        return any(mark in groups for mark in marks)
    return False


def cpu_s(process: psutil.Process) -> float:
    """What a node has used since its start script began."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def pss_mib(process: psutil.Process) -> float:
    """A node's share of memory."""
    return float(process.memory_full_info().pss) / 2**20


# Rounds


@contextmanager
def running(backend: BackendUnderTest, seed: int, results: Path) -> Iterator[subprocess.Popen[str]]:
    """A run, from when its ISR is full, or it ended without."""
    process = subprocess.Popen(
        backend.argv(results, seed),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        with suppress(WaitTimeout):
            wait_until(
                lambda: process.poll() is not None or isr_is_full(results),
                timeout_s=START_LIMIT_S,
                what="a full ISR",
                every_s=0.02,
            )
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def one(backend: BackendUnderTest, seed: int, rows: dict[str, Row]) -> str | None:
    """Run once on one backend; why nothing was measured, if so."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        results = Path(name)
        with running(backend, seed, results) as process:
            if process.poll() is None and isr_is_full(results):
                for row, value in sampled(backend, process.pid, results).items():
                    rows[row].add(backend.name, value)
            said, _ = process.communicate(timeout=RUN_LIMIT_S)
        if process.returncode != 0:
            return why(results, said)
        read(backend, (results / "latest").resolve(), rows)
        return None


def why(results: Path, said: str) -> str:
    """Why a run failed: what its record says, else its last words."""
    try:
        failure = RunFolder(path=results / "latest").read().failure
    except StoreError:
        failure = None
    return f"{failure.phase}: {failure.error}" if failure else said.strip()[-200:]


def isr_is_full(results: Path) -> bool:
    """Whether the newest run's is, or was."""
    return (results / "latest").exists() and full_isr_ns(results / "latest") is not None


def sampled(backend: BackendUnderTest, run: int, results: Path) -> dict[str, float]:
    """CPU and memory of the nodes now; nothing where their processes are not all here."""
    with suppress(psutil.Error, ClusterError, StoreError, OSError):
        record = RunFolder(path=results / "latest").read()
        nodes = node_processes(backend, run, record)
        if len(nodes) == len(nodes_of(record.scenario.cluster)):
            return {"cpu": sum(map(cpu_s, nodes)), "memory": sum(map(pss_mib, nodes))}
    return {}


def parsed(settings: Iterable[str]) -> dict[str, Any]:
    """Settings as a scenario has them."""
    return dict(parse_override(text) for text in settings)


# What is shown


def table(rows: Iterable[Row], backends: Sequence[str]) -> Table:
    """All measures, a column a backend, and the ratios to local."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("median (range)")
    others = [name for name in backends if name != "local"] if "local" in backends else []
    for name in [*backends, *(f"{other}/local" for other in others)]:
        shown.add_column(name, justify="right")
    for row in rows:
        cells = [row.shown(name) for name in backends]
        shown.add_row(f"{row.name}, {row.unit}", *cells, *(row.ratio(name) for name in others))
    return shown


def demands(rows: dict[str, Row], backends: Sequence[str]) -> list[tuple[str, bool]]:
    """Each demand with what was measured, and whether it is met."""
    results = []
    own, local = rows["start"].median("docker"), rows["start"].median("local")
    if own and local:
        sentence = f"cold start on docker ≤ {COLD_START_RATIO} x local: {own / local:.2f}"
        results.append((sentence, own <= COLD_START_RATIO * local))
    for name in backends:
        if (worst := rows["stands"].most(name)) is not None:
            sentence = f"a cut stands on all its nodes within {CUT_LIMIT_S} s on {name}"
            results.append((f"{sentence}: at most {worst:.3f} s", worst <= CUT_LIMIT_S))
    return results


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a demand is not met, 255 when nothing could be measured."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.backends", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--backends", default=",".join(STARTED_HERE), help="names, commas between")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], metavar="backend.X.KEY=VALUE")
    parser.add_argument("--way", action="append", default=[], metavar="BACKEND=COMMAND")
    asked, console = parser.parse_args(argv), Console(highlight=False, soft_wrap=True)
    ways = dict(each.split("=", 1) for each in asked.way)
    tried = [
        BackendUnderTest(
            name=name,
            backend=name,
            way=tuple(shlex.split(ways.get(name, ""))),
            settings=tuple(s for s in asked.set if s.startswith(f"backend.{name}.")),
        )
        for name in asked.backends.split(",")
    ]
    missing = {p.name: told for p in tried if (told := absent(p.name, parsed(p.settings)))}
    for name, told in missing.items():
        console.print(f"{name} is left out: {told}", style="yellow")
    tried = [backend for backend in tried if backend.name not in missing]
    os.environ.setdefault("PYTHONPATH", str(ROOT))
    for number in range(asked.rounds):
        for backend in tried:
            not_so = one(backend, number, ROWS)
            console.print(f"round {number + 1}, {backend.name}: {not_so or 'measured'}")
    names = [backend.name for backend in tried if backend.name in ROWS["start"].values]
    if not names:
        return FAILED
    console.print(table(ROWS.values(), names))
    results = demands(ROWS, names)
    for sentence, met in results:
        console.print(f"{'met' if met else 'NOT met'}: {sentence}", style="" if met else "red")
    return 0 if all(met for _, met in results) else 1


if __name__ == "__main__":
    sys.exit(main())
