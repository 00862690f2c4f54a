"""Running the command itself, and what it left of a run."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
import pyarrow.parquet as pq

from analysis.job.job import check
from harness import cli
from harness.checkout import ROOT
from harness.waiting import WaitTimeout, wait_until
from tests.support.host_pace import bound_s

COMMAND = [sys.executable, "-m", "harness.cli"]
MARK = "KAFKA_HARNESS_TEST"  # in the environment of all that a test starts
# A cluster of two nodes, where the harness is put to the test and not Kafka: half the CPU seconds.
TWO_NODES = (
    "--set=cluster.zookeepers=1",
    "--set=cluster.brokers=1",
    "--set=topic.replication_factor=1",
)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A finished command."""

    code: int
    out: str
    err: str
    folder: Path | None

    def record(self, name: str = "run.json") -> dict[str, Any]:
        """One of the run folder's JSON files."""
        assert self.folder is not None, self.out + self.err
        loaded: dict[str, Any] = json.loads((self.folder / name).read_text())
        return loaded

    @property
    def report(self) -> dict[str, Any]:
        """What the check found. What was recorded with --no-check is checked here when it is asked
        for, by the Spark of this process: one JVM then serves all runs."""
        if self.folder is not None and not (self.folder / "report.json").exists():
            check([self.folder])
        return self.record("report.json")


def called(
    *arguments: str | Path,
    main: Callable[[], object] = cli.main,
    environment: Mapping[str, str] | None = None,
) -> Ran:
    """The command within this process: one of its own takes most of a second to import all. What
    starts a cluster or minds signals needs its own."""
    argv = ["kafka-harness", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.dict(os.environ, environment or {}),  # what the command sets there is gone too
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    for stream in (out, err):
        stream.seek(0)
    return Ran(code=code, out=out.read(), err=err.read(), folder=None)


def carried_out(scenario: str, folder: Path, *more: str, limit_s: float = 600) -> Ran:
    """One run of a scenario file beside the tests, for all tests of a module."""
    file = ROOT / "tests" / "live" / "local" / scenario
    argv = [*COMMAND, "run", str(file), "--seed", "7", "--no-check", "--results", str(folder)]
    argv += more
    return ran(argv, folder, limit_s=limit_s)


def assert_valid(run: Ran) -> None:
    """The run was carried out, and its check finds it valid."""
    assert run.code == 0, run.out + run.err
    assert run.report["verdict"] == "valid", (run.report["reasons"], run.out + run.err)


def ran(
    argv: Sequence[str],
    folder: Path,
    *,
    limit_s: float,
    environment: Mapping[str, str] | None = None,
) -> Ran:
    """A command once it has ended, and the newest run in the folder; `environment` is added."""
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        timeout=bound_s(limit_s),
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )
    return Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=newest(folder))


def with_command(folder: Path) -> dict[str, str]:
    """This environment, in which `kafka-harness` is the one under test; it lies in the folder."""
    folder.mkdir(exist_ok=True)
    command = folder / "kafka-harness"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    command.chmod(0o755)
    searched = (str(folder), os.environ["PATH"])
    return {**os.environ, "PYTHONPATH": str(ROOT), "PATH": os.pathsep.join(searched)}


def script_result(*arguments: str, limit_s: float) -> dict[str, Any]:
    """What a script that `up` runs beside a cluster says on its line TOLD."""
    done = subprocess.run(
        [*COMMAND, "up", *arguments],
        capture_output=True,
        text=True,
        timeout=bound_s(limit_s),
        check=False,
        stdin=subprocess.DEVNULL,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    assert lines, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(lines[0].removeprefix("TOLD "))
    return found


def assert_proved(run: Ran, number: int, verb: str, bit: str, healed: str) -> None:
    """The run's fault of that number is of this verb, and its evidence has these words."""
    fault = faults_of(run)[number]

    assert verb == fault["verb"], run.out + run.err
    assert bit in (fault["evidence"] or ""), fault
    assert healed in (fault["heal_evidence"] or ""), fault


def in_force(results_folder: Path) -> int:
    """How many faults of the newest run are proved, while it goes on."""
    folder = newest(results_folder)
    file = folder / "history" / "nemesis.jsonl" if folder else None
    lines = file.read_text().splitlines() if file and file.exists() else []
    return sum('"inject"' in line and '"ok"' in line for line in lines)


@contextmanager
def with_faults(
    argv: Sequence[str], folder: Path, faults: int, environment: Mapping[str, str], limit_s: float
) -> Iterator[subprocess.Popen[bytes]]:
    """A run that goes on, once that many of its faults are proved; `folder` takes its results. A
    run that ends before, or takes too long, fails with what it said."""
    said = folder / "said.txt"
    with (
        said.open("wb") as out,
        subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        ) as process,
    ):
        try:
            wait_until(
                lambda: in_force(folder) == faults or process.poll() is not None,
                timeout_s=bound_s(limit_s),
                what=f"{faults} faults in force",
                every_s=0.2,
            )
            assert process.poll() is None, f"the run ended with {process.returncode}"
        except (AssertionError, WaitTimeout) as error:
            give_up(process, limit_s)
            raise AssertionError(f"{error}; it said:\n{said.read_text()}") from None
        try:
            yield process
        except BaseException:
            if process.poll() is None:
                kill_tree(process)  # else its end, minutes away, would be waited for
            raise


def below(root: int, mark: str) -> list[psutil.Process]:
    """The processes below `root` whose command line has `mark`, outer ones first; one that ends
    while it is looked at is none of them."""
    found = []
    for each in psutil.Process(root).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # a zombie is one of these too
            if mark in " ".join(each.cmdline()):
                found.append(each)
    return found


def give_up(process: subprocess.Popen[Any], limit_s: float) -> None:
    """End a run that takes too long: it has so long to take its cluster away."""
    process.terminate()
    try:
        process.wait(bound_s(limit_s))
    except subprocess.TimeoutExpired:
        kill_tree(process)


def kill_tree(process: subprocess.Popen[Any]) -> None:
    """SIGKILL to a process and to all that descends from it."""
    for each in [*psutil.Process(process.pid).children(recursive=True), process]:
        with suppress(psutil.NoSuchProcess):  # it ended in between
            each.send_signal(signal.SIGKILL)


def faults_of(run: Ran) -> list[dict[str, Any]]:
    """The faults of a run, in the order of its plan."""
    assert run.folder is not None, run.out + run.err
    rows = pq.read_table(run.folder / "history" / "faults.parquet").to_pylist()
    return sorted(rows, key=lambda row: row["step"])


def faults_by_name(run: Ran, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The faults of a run that got to the end of its plan, by their names in its order."""
    found = faults_of(run)
    assert len(found) == len(names), run.out + run.err
    return dict(zip(names, found, strict=True))


def results(arguments: tuple[str, ...], tmp_path: Path) -> list[str]:
    """The option that sends a run's results to the test's own folder."""
    return ["--results", str(tmp_path)] if arguments[0] in ("run", "check", "report") else []


def newest(results_folder: Path) -> Path | None:
    """The newest run below a results folder."""
    latest = results_folder / "latest"
    return latest.resolve() if latest.exists() else None


def newest_run(results_folder: Path) -> Path:
    """The same, where there must be one."""
    run = newest(results_folder)
    assert run is not None, f"no run below {results_folder}"
    return run
