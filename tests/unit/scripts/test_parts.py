"""`make test` in parts, on tests made for each of its rules: what CI tries once more."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.checkout import ROOT
from harness.waiting import wait_until
from scripts.test_parts.__main__ import main
from scripts.test_parts.parts import PYTEST, REPLACED, Part
from scripts.test_parts.running import Ended, Running
from scripts.test_parts.second_try import refusal

# How starved of CPU the host was is what the file STARVED says. The time and what was waited for
# until then are asked one after the other, and told of one moment.
CONFTEST = """
import pathlib, time
from scripts.test_parts import starvation
share = float(pathlib.Path("STARVED").read_text()) / 100
class Clock:
    asked = 0
    def time(self):
        self.asked += 1
        if self.asked % 2:
            self.now = time.time()
        return self.now
starvation.time = Clock()
starvation.pressure_s = lambda: starvation.time.time() * share
"""
FAILS_ONCE = """
import pathlib
def test_it(tmp_path):
    tried = pathlib.Path(f"{__file__}.tried")
    again = tried.exists()
    tried.touch()
    (tmp_path / "what-it-made.txt").write_text("")
    assert again, "a follower was slow"
def test_beside_it(): pass
"""
FAILS = "def test_it(): assert False"
FORBIDDEN = """
import json
def test_it(tmp_path):
    found = {"lost": {"judged": {"forbidden": 1}}}
    (tmp_path / "report.json").write_text(json.dumps({"anomalies": found}))
    assert False
"""
PERMITTED = FORBIDDEN.replace('"forbidden": 1', '"forbidden": 0, "permitted": 1')
UNEXPECTED = """
def test_it(tmp_path):
    file = tmp_path / "unexpected-20261126T000000Z-1.txt"
    file.write_text("Traceback (most recent call last):")
    assert False
"""
OUTPUT = """
def test_it():
    said = "Traceback (most recent call last):\\n  KeyError: 'x'"
    assert not said, said
"""
LEFT = """
from tests.support.left_behind import LeftBehind
def test_it(): raise LeftBehind("a container")
"""
FOUND_BY_A_FIXTURE = """
import pytest
@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert not {"mount"}
def test_it(): pass
"""
LIVE, UNIT = Part(name="live", paths=("live",), live=True), Part(name="unit", paths=("unit",))
Made = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Makes a checkout of these tests, on a host as starved as is told."""
    # These tests need no plug-in, and looking for them takes half of the time.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def checkout(starved: int, **files: str) -> Path:
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        (tmp_path / "conftest.py").write_text(CONFTEST)
        (tmp_path / "STARVED").write_text(str(starved))
        for name, text in files.items():
            part, _, rest = name.partition("_")
            (tmp_path / part).mkdir(exist_ok=True)
            (tmp_path / part / f"test_{rest}.py").write_text(text)
        return tmp_path

    return checkout


def test_on_a_starved_host_a_live_file_is_tried_once_more_and_its_first_try_is_kept(made, capsys):
    root = made(90, live_once=FAILS_ONCE)

    assert main(["--second-try"], [LIVE], root) == 0
    out = capsys.readouterr().out
    assert "FLAKY live/test_once.py::test_it: AssertionError: a follower was slow" in out
    assert "something waited for a CPU 90 % of the time" in out
    assert "= 1 failed, 1 passed in" in out
    (first,) = (root / "build" / "tests").glob("*/1/live")
    assert "a follower was slow" in (first / "junit.xml").read_text()
    assert list(first.rglob("what-it-made.txt"))


def test_what_fails_twice_has_failed(made, capsys):
    assert main(["--second-try"], [LIVE], made(90, live_broken=FAILS)) == 1
    assert "FLAKY" not in capsys.readouterr().out


@pytest.fixture
def refused(made: Made, tmp_path: Path) -> Callable[..., str | None]:
    """Why CI does not try this file again; it fails on such a host."""

    def why(starved: int, broken: str) -> str | None:
        root = made(starved, live_broken=broken)
        ended = Running(LIVE, tmp_path / "ended", root=root).ended()
        assert not ended.passed
        return refusal([ended])

    return why


def test_on_a_calm_host_a_failure_is_a_failure(refused):
    assert "the host was calm, something waited for a CPU 59 %" in refused(59, broken=FAILS)


def test_a_file_that_cannot_be_read_is_not_tried_again(refused):
    assert "is not in its tests alone" in refused(90, broken="1 +")


def test_what_no_busy_host_explains_is_not_tried_again(made, tmp_path):
    """All files in one process; each is then judged by itself, and some as if they were another
    part or failed together."""
    files = {
        "forbidden": (FORBIDDEN, "has a forbidden anomaly: lost"),
        "unexpected": (UNEXPECTED, "has a traceback of ours"),
        "output": (OUTPUT, "test_it shows a traceback of ours"),
        "left": (LEFT, "test_it found something left behind"),
        "fixture": (FOUND_BY_A_FIXTURE, "test_it found something left behind"),
        "permitted": (PERMITTED, None),
        "plain": (FAILS, None),
    }
    root = made(90, **{f"live_{name}": text for name, (text, _) in files.items()})
    ended = Running(LIVE, tmp_path / "ended", root=root).ended()

    for name, (_, why) in files.items():
        told = refusal([_only(ended, name)])
        assert (told or "").endswith(why or ""), name
        assert (told is None) == (why is None), name
    assert refusal([_only(ended, "plain", part=UNIT)]) == "unit needs no quiet host"
    assert refusal([_only(ended, "plain", "permitted")]) is None
    three = _only(ended, "plain", "permitted", "fixture")
    assert refusal([three]) == "3 files failed, and at most 2 may"


def _only(ended: Ended, *names: str, part: Part = LIVE) -> Ended:
    """A part of these files alone."""
    files, alone = {f"live/test_{name}.py" for name in names}, replace(ended, part=part)
    object.__setattr__(alone, "outcomes", [o for o in ended.outcomes if o.file in files])
    return alone


def test_a_process_left_behind_is_ended_and_fails_its_part(made, capsys):
    leaves = "import subprocess\ndef test_it(): subprocess.Popen(['sleep', '987'])"

    assert main(["--second-try"], [LIVE], made(90, live_leaves=leaves)) == 1
    out = capsys.readouterr().out
    assert "live left a process behind: sleep 987" in out
    assert "no second try" in out


def test_a_timeout_in_a_computation_names_its_test_and_the_others_go_on(made, capsys):
    stuck = "def test_stuck():\n    while True: pass\ndef test_next(): pass"
    plugins = ("-p", "xdist", "-p", "pytest_timeout")
    part = replace(UNIT, program=(*PYTEST, *plugins, "-n1", "--timeout=2", *REPLACED))

    assert main([], [part], made(0, unit_stuck=stuck)) == 1
    out = capsys.readouterr().out
    assert "crashed while running 'unit/test_stuck.py::test_stuck'" in out
    assert "= 1 passed, 1 error in" in out


def test_cpu_seconds_are_those_of_orphans_too(tmp_path):
    spin = "import time\nwhile time.process_time() < 0.5: pass"
    begin = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {spin!r}])"
    file = tmp_path / "measured.json"
    argv = ["-m", "scripts.test_parts.measured", str(file), sys.executable, "-c", begin]
    subprocess.run([sys.executable, *argv], check=True, cwd=ROOT)

    assert json.loads(file.read_text())["cpu_s"] >= 0.5


def test_an_interrupt_reaches_the_tests_and_their_fixtures_end(made):
    waits = """
import pathlib, pytest, time
@pytest.fixture
def cluster():
    pathlib.Path("up").touch()
    yield
    pathlib.Path("down").touch()
def test_it(cluster): time.sleep(600)
"""
    root = made(0, live_waits=waits)
    program = (
        "import sys, pathlib\n"
        "from scripts.test_parts.__main__ import main\n"
        "from scripts.test_parts.parts import Part\n"
        f"root = pathlib.Path({str(root)!r})\n"
        "sys.exit(main([], [Part(name='live', paths=('live',), live=True)], root))"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) as process:
        wait_until((root / "up").exists, timeout_s=60, what="the test")
        process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    assert (root / "down").exists()


def test_of_several_times_it_is_told_how_often_each_test_failed(made, capsys):
    root = made(0, live_once=FAILS_ONCE)

    assert main(["--live", "--times", "2"], [LIVE, UNIT], root) == 1
    out = capsys.readouterr().out
    assert "failed 1 of 2 times: live/test_once.py::test_it" in out
    assert "1 tests failed none of 2 times" in out
    assert "FLAKY" not in out
