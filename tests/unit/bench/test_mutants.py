"""Mutants: the pinned ones fit the code, the checkout stays as it is, results are kept."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from bench.mutants import page
from bench.mutants.mutant import Mutant, Pin, PinError, pins
from bench.mutants.session import TIME_LIMIT, Outcome, Session
from bench.mutants.trial import (
    ALL,
    Copy,
    Taken,
    UnmutatedFails,
    alone,
    attempt,
    nearest,
    nearest_tests,
    together,
)
from harness.checkout import ROOT
from tests.support.source_files import nodes, tree

PIN = Pin(
    what="nobody dies",
    file="harness/waiting.py",
    old="from __future__ import annotations\n",
    new="",
    test="tests/unit/harness/test_waiting.py::test_it",
)


def mutant(old: str = "a or b", new: str = "a and b", file: str = "analysis/job/job.py") -> Mutant:
    return Mutant(file=file, before=f"if x:\n    {old}\n", text=f"if x:\n    {new}\n")


# --- the pinned ones


def test_a_pinned_mutant_fits_the_code_and_its_test_is_there() -> None:
    """Its old text is in its file once, what comes of it is Python, and a test is to notice it."""
    wrong = [f"{pin.what}: {why}" for pin in pins() for why in misfits(pin)]

    assert pins()
    assert [] == wrong


def misfits(pin: Pin) -> Iterator[str]:
    """Why it is not what it should be."""
    file, _, name = pin.test.partition("::")
    if name not in {each.name for each in nodes(file) if isinstance(each, ast.FunctionDef)}:
        yield f"{pin.test} is not there"
    try:
        made = pin.made()
        if ast.dump(ast.parse(made.text)) == ast.dump(tree(pin.file)):
            yield f"nothing changes in {pin.file}"
    except (PinError, SyntaxError) as error:
        yield str(error)


@pytest.mark.parametrize(("old", "times"), [("nowhere to be found", 0), ("import", 2)])
def test_a_pin_whose_old_text_is_not_there_once_is_refused(old: str, times: int) -> None:
    pin = Pin(what=PIN.what, file=PIN.file, old=old, new="", test=PIN.test)

    with pytest.raises(PinError, match=rf"nobody dies: its old text is .* times in {PIN.file}"):
        pin.made()


def test_a_mutant_tells_what_changed() -> None:
    assert (2, "a or b", "a and b") == mutant().change
    assert mutant().key != mutant(new="b").key


# --- which tests


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("analysis/checks/loss.py", "tests/unit/analysis/checks"),
        ("analysis/anomalies.py", "tests/unit/analysis"),
        ("analysis/job/job.py", "tests/unit/analysis/job"),
        ("analysis/nowhere/job.py", "tests/unit/analysis"),
        ("harness/history/sealing.py", "tests/unit/harness/history"),
        ("workloads/final_read.py", "tests/unit/workloads"),
    ],
)
def test_the_nearest_tests_mirror_the_file(file: str, folder: str) -> None:
    assert folder == nearest(file)


def test_a_file_s_own_tests_come_before_those_of_its_folder() -> None:
    near = nearest_tests(mutant(file="analysis/checks/loss.py"))

    assert "tests/unit/analysis/checks/test_loss.py" == near[0]
    assert len(near) > 5
    assert {"tests/unit/analysis/checks"} == {str(Path(test).parent) for test in near}


def test_a_pinned_mutant_is_tried_by_its_own_test_alone() -> None:
    assert (PIN.test,) == nearest_tests(PIN.made())


# --- the copy


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("mutants"))


def test_the_copy_is_mutated_and_the_checkout_never(copy: Copy) -> None:
    """Whatever ends the trial."""
    pinned, before = PIN.made(), (ROOT / PIN.file).read_text()
    seen: list[str] = []

    def interrupted() -> None:
        with copy.mutated(pinned):
            seen.extend((root / PIN.file).read_text() for root in (copy.path, ROOT))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [pinned.text, before] == seen
    assert before == (copy.path / PIN.file).read_text()


def test_tests_run_on_the_copy_s_code_until_the_first_fails(copy: Copy) -> None:
    test = copy.path / "tests/unit/test_told.py"
    test.write_text(
        '"""Told."""\n\nfrom harness.checkout import ROOT\n\n\n'
        f"def test_place() -> None:\n    assert str(ROOT) == {str(copy.path)!r}\n\n\n"
        "def test_false() -> None:\n    assert False\n\n\n"
        "def test_false_too() -> None:\n    assert False\n"
    )
    name = str(test.relative_to(copy.path))

    assert (False, f"{name}::test_false") == copy.run((name,), None)[:2]
    assert ": assert False" == copy.error


def test_a_test_that_never_ends_is_ended_at_the_time_limit(copy: Copy) -> None:
    test = copy.path / "tests/unit/test_told.py"
    test.write_text('"""Told."""\n\n\ndef test_forever() -> None:\n    while True:\n        pass\n')

    assert (False, TIME_LIMIT) == copy.run((str(test.relative_to(copy.path)),), 3)[:2]


class Told:
    """A copy whose runs end as told; None: all pass."""

    error = ": as told"

    def __init__(self, *failing: str | None) -> None:
        self.failing, self.runs = list(failing), list[tuple[str, ...]]()
        self.tried: list[list[str]] = []

    def run(self, tests: tuple[str, ...], _: float | None) -> tuple[bool, str, float]:
        self.runs.append(tests)
        failed = self.failing.pop(0)
        return failed is None, failed or "1 passed", 1.0

    def mutated(self, *mutants: Mutant) -> AbstractContextManager[None]:
        self.tried.append([mutant.file for mutant in mutants])
        return nullcontext()


@pytest.mark.parametrize(
    ("failing", "by"),
    [
        ([None, "x.py::a", "x.py::a"], "x.py::a"),  # on its own too
        ([None, "x.py::a", None, "x.py::b"], "x.py::b"),  # among the others only
        ([None, TIME_LIMIT], TIME_LIMIT),
        ([None, "x.py::a", None, None], ""),  # by chance
        ([None, None], ""),
    ],
)
def test_a_mutant_is_killed_by_a_test_that_fails_again(
    tmp_path: Path, failing: list[str | None], by: str
) -> None:
    """The first run is of the unmutated code."""
    copy = Told(*failing)
    outcome = attempt(mutant(file="analysis/checks/loss.py"), cast(Any, copy), opened(tmp_path))

    assert (bool(by), by, []) == (outcome.killed, outcome.by, copy.failing)


A, B, C = (mutant(file=f"analysis/{name}.py") for name in "abc")
B_TOO = mutant(new="b", file="analysis/b.py")


@pytest.mark.parametrize(
    ("failing", "tried", "killed"),
    [
        ([None, None], ["abc"], ""),
        # One of three, and then of its half: the first run of each is said again on its own.
        ([None, "x", "x", None, "x", "x", "x", "x", None], ["abc", "a", "bc", "b", "c"], "b"),
        ([None, "x", "x", "x", "x", None], ["abc", "a", "bc"], "a"),
    ],
)
def test_mutants_of_different_files_are_tried_by_all_tests_at_once_and_by_halves(
    tmp_path: Path, failing: list[str | None], tried: list[str], killed: str
) -> None:
    copy = Told(*failing)
    found = {
        told.file: outcome.killed
        for told, outcome in together([A, B, C], cast(Any, copy), opened(tmp_path))
    }

    assert {f"analysis/{name}.py": name in killed for name in "abc"} == found
    assert tried == ["".join(Path(file).stem for file in each) for each in copy.tried]
    assert ([], ALL) == (copy.failing, copy.runs[-1] if not killed else ALL)


def test_mutants_of_one_file_are_tried_one_after_the_other(tmp_path: Path) -> None:
    copy = Told(None, None, None)
    found = [told for told, _ in together([A, B, B_TOO], cast(Any, copy), opened(tmp_path))]

    assert [A, B, B_TOO] == found
    assert [["analysis/a.py", "analysis/b.py"], ["analysis/b.py"]] == copy.tried


def test_tests_that_fail_without_a_mutant_tell_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnmutatedFails, match=r"a fails without any mutant .*: as told"):
        attempt(mutant(), cast(Any, Told("x.py::a")), opened(tmp_path))


def test_two_commands_do_not_work_in_one_copy(tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(Taken, match="another command"), alone(tmp_path):
        pass
    with alone(tmp_path):
        pass


# --- the session


def opened(folder: Path, tests: str = "t", code: str = "c") -> Session:
    session = Session.open(folder)
    session.tests, session.code = tests, code
    return session


KILLED = Outcome(killed=True, by="tests/unit/test_x.py::test_y", took_s=1.5)
SURVIVED = Outcome(killed=False, by="", took_s=9.5)


def test_a_session_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    """Even in the middle of a line."""
    first = opened(tmp_path)
    first.keep("a", KILLED)
    first.keep("b", SURVIVED)
    with first.file.open("a") as file:
        file.write('{"event": "trial", "key": "c", "outc')

    again = opened(tmp_path)
    assert (KILLED, SURVIVED, None) == tuple(again.outcome(key) for key in "abc")
    assert [True, True, False] == [again.holds(key) for key in "abc"]


def test_a_survivor_is_tried_again_when_a_test_has_changed(tmp_path: Path) -> None:
    """What was killed stays killed."""
    first = opened(tmp_path)
    first.keep("a", KILLED)
    first.keep("b", SURVIVED)

    again = opened(tmp_path, tests="others")
    assert [True, False] == [again.holds(key) for key in "ab"]
    assert SURVIVED == again.outcome("b")


def test_what_passed_the_nearest_tests_is_known_until_a_test_changes(tmp_path: Path) -> None:
    opened(tmp_path).keep_passed("a")

    assert [True, False] == [opened(tmp_path).passed(key) for key in "ab"]
    assert not opened(tmp_path, tests="others").passed("a")
    assert not opened(tmp_path).holds("a")


def test_the_unmutated_code_is_tried_again_when_any_code_has_changed(tmp_path: Path) -> None:
    opened(tmp_path).keep_unmutated("tests/unit", 12.34)

    assert 12.3 == opened(tmp_path).unmutated_s("tests/unit")
    assert None is opened(tmp_path).unmutated_s("tests/baseline")
    assert None is opened(tmp_path, code="other").unmutated_s("tests/unit")


# --- the page


def test_the_page_counts_and_lists_what_survived(tmp_path: Path) -> None:
    """A | of the code does not end its cell."""
    killed, late, survived, untried = (mutant(new=f"a | {n}") for n in range(4))
    session = opened(tmp_path)
    session.keep(killed.key, KILLED)
    session.keep(late.key, Outcome(killed=True, by=TIME_LIMIT, took_s=60))
    session.keep(survived.key, SURVIVED)
    text = page.render(7, [], [killed, late, survived, untried], session)

    assert "drawn with seed 7" in text
    assert "| pinned | 0 of 0 | 0 | 0 | 0 |" in text
    assert "| `analysis/` | 3 of 4 | 2 | 1 | 1 |" in text
    assert (
        "| `analysis/job/job.py`, line 2 | <code>a or b</code> | <code>a &#124; 2</code> "
        f"| {page.UNEXPLAINED} |"
    ) in text
    assert "<code>a &#124; 0</code>" not in text


@pytest.mark.parametrize("reason", page.reasons(), ids=lambda reason: reason.old)
def test_the_line_that_a_reason_is_about_is_there(reason: page.Reason) -> None:
    """About another line it explains nothing."""
    lines = (ROOT / reason.file).read_text().splitlines()

    assert reason.old in " ".join(line.strip() for line in lines)


def test_a_survivor_with_a_reason_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toml = tmp_path / "reasons.toml"
    known = {
        "file": "analysis/job/job.py",
        "old": "a or b",
        "new": "a and b",
        "why": "the same here",
    }
    rows = "\n".join(f"{key} = {json.dumps(value)}" for key, value in known.items())
    toml.write_text(f"[[survivor]]\n{rows}\n")
    monkeypatch.setattr(page, "REASONS", toml)
    session = opened(tmp_path)
    session.keep(mutant().key, SURVIVED)
    text = page.render(1, [], [mutant()], session)

    assert "| the same here |" in text
    assert page.UNEXPLAINED not in text
