"""Programs of a run: started in order, started again, cut, and ended."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from harness.cluster.nodes import ClusterError
from harness.model.runs.run_record import ProgramRecord
from harness.model.scenario import ProgramPart, Scenario, WorkloadPart
from harness.run.application import programs as module
from harness.run.application.programs import Programs
from harness.waiting import wait_until

SCENARIO = Scenario(title="A test", workload=WorkloadPart(kind="stream"))


class Here:
    """A cluster whose place for workers is this one."""

    nodes = ()

    def spawn(self, argv: Sequence[str], *, log: Path) -> subprocess.Popen[str]:
        return subprocess.Popen(argv, stdin=subprocess.PIPE, text=True, start_new_session=True)


def part(script: str, **more: Any) -> ProgramPart:
    command = ("sh", "-c", script)
    return ProgramPart.model_validate({"name": "app", "command": command, **more})


class Begun:
    """Programs, what was said of them, and their records at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said = folder, list[str]()
        self.records: Sequence[ProgramRecord] = ()
        self.programs: Programs | None = None

    def start(self, *parts: ProgramPart) -> Programs:
        made = SCENARIO.model_copy(update={"programs": parts})
        self.programs = Programs(
            scenario=made,
            cluster=cast(Any, Here()),
            folder=self.folder / "programs",
            logs=self.folder,
            say=self.said.append,
            update=lambda records: setattr(self, "records", records),
        )
        self.programs.start()
        return self.programs


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Begun]:
    made = Begun(tmp_path)
    yield made
    if made.programs:
        made.programs.close()


def test_each_starts_when_those_before_it_are_ready(begun: Begun, tmp_path: Path) -> None:
    first = part(
        f"sleep 0.3; touch {tmp_path}/there; echo Started; sleep 1000", ready="line:Started"
    )
    second = part(f"ls {tmp_path}/there; echo {{index}} in {{folder}} $WHO; sleep 1000").model_copy(
        update={"name": "other", "count": 2, "env": {"WHO": "for {topic}"}}
    )

    programs = begun.start(first, second)

    assert [program.name for program in programs.now()] == ["app-0", "other-0", "other-1"]
    log = tmp_path / "other-1.log"
    wait_until(lambda: " in " in log.read_text(), timeout_s=20, what="its words")
    lines = log.read_text().splitlines()
    assert lines == [
        f"{tmp_path}/there",
        f"1 in {tmp_path}/programs/other-1 for {programs.scenario.topic.name}",
    ]


def test_one_that_ends_by_itself_is_started_again(begun: Begun) -> None:
    programs = begun.start(part("exit 3"))
    wait_until(lambda: len(programs.ever) > 2, timeout_s=30, what="its successors")

    programs.close()

    assert [record.process for record in begun.records][:3] == ["app-0", "app-0-2", "app-0-3"]
    assert (begun.records[0].exit, begun.records[0].unordered) == (3, True)
    assert begun.said[0] == "app-0 has ended by itself (exit 3) and starts again in 1 s"
    assert begun.said[1].endswith("starts again in 2 s")


def test_one_that_a_fault_ended_stays_down_and_another_takes_its_place(begun: Begun) -> None:
    programs = begun.start(part("sleep 1000"))
    (program,) = programs.now()
    wait_until(lambda: program.pid, timeout_s=20, what="its process")

    program.signal(signal.SIGKILL)
    wait_until(program.ended, timeout_s=20, what="it to end")
    successor = programs.begin(program.first, program.part)
    programs.close()

    assert [r.process for r in begun.records] == ["app-0", "app-0-2"]
    assert [r.unordered for r in begun.records] == [False, False]
    assert successor.first == "app-0"
    assert begun.said == []


def test_never_again(begun: Begun) -> None:
    programs = begun.start(part("exit 0", again="never"))
    wait_until(lambda: begun.said, timeout_s=20, what="it to end")

    assert begun.said == ["app-0 has ended by itself (exit 0) and stays so"]
    assert programs.now()[0].back() == "app-0 has ended by itself, and is not started again"


def test_one_that_does_not_become_ready_is_told_with_its_last_lines(
    begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READY_LIMIT_S", 0.5)

    with pytest.raises(ClusterError, match="app-0 was not ready \\(line:Started\\)") as refused:
        begun.start(part("echo no such database; exit 1", ready="line:Started"))

    assert refused.value.log == "no such database"


def test_a_log_is_cut_and_says_so(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOG_BYTES", 2**20)
    programs = begun.start(part("yes | head -c 5000000; echo done; sleep 1000"))
    log = programs.now()[0].log
    wait_until(lambda: b"cut at" in log.read_bytes(), timeout_s=20, what="the cut")
    programs.close()

    assert log.stat().st_size <= 2**20


def test_one_that_ignores_sigterm_is_killed(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "END_LIMIT_S", 0.3)
    programs = begun.start(
        part("trap '' TERM; echo up; while :; do sleep 1; done", ready="line:up")
    )

    programs.close()

    assert begun.said == ["app-0 did not end at SIGTERM: killed"]
    assert begun.records[0].unordered is False
