"""A mutant is tried in a copy of the checkout, by the tests that are nearest to its file first.

A pinned mutant is tried by its own test alone. Any other first by the tests in the folder that
mirrors its own (analysis/checks/loss.py: tests/unit/analysis/checks, test_loss.py before the
others), then, where none of them failed, by all that need neither a cluster nor a browser. These
take minutes, so mutants of different files are tried by them at once: where all tests pass, each
has survived; where one fails, the halves are tried. (Two mutants that hide each other would pass:
they would have to undo each other's effect in every test.)

The first test that fails, and fails again, ends a trial; so does a time limit of three times what
the unmutated code takes, and a minute. The checkout itself is never changed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.mutants.mutant import Mutant
from bench.mutants.session import FOLDER, TIME_LIMIT, Outcome, Session
from harness.checkout import ROOT

# What bench does is not mutated; manners are held by reading the code, and a change can break them.
PARTS = ("tests/unit", "tests/baseline", "tests/rules/test_house.py", "--ignore=tests/unit/bench")
ALL = ("-n", "2", "--dist", "loadfile", *PARTS)
MARKS = "not cluster and not browser"
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
ERROR = re.compile(r"^E +(.+)$", re.MULTILINE)
Tests = tuple[str, ...]  # arguments for pytest


class UnmutatedFails(Exception):
    """The tests fail on the code as it is, so they tell nothing of mutants: one sentence."""


class Taken(Exception):
    """Another command works in the copy: one sentence."""


@contextmanager
def alone(folder: Path = FOLDER) -> Iterator[None]:
    """Inside the block the copy is nobody else's. Raises Taken."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Taken(f"another command works in {folder}: wait for its end") from None
        yield


class Copy:
    """A copy of the checkout, uncommitted changes too, for one mutant at a time."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.path = folder / "checkout"
        self.error = ""  # what the test that failed last says of it
        shutil.rmtree(self.path, ignore_errors=True)
        for name in _names():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.path / name)
        (self.path / ".venv").symlink_to(ROOT / ".venv")

    @contextmanager
    def mutated(self, *mutants: Mutant) -> Iterator[None]:
        """Inside the block the copy has these mutants, of different files."""
        try:
            for mutant in mutants:
                (self.path / mutant.file).write_text(mutant.text)
            yield
        finally:
            for mutant in mutants:
                (self.path / mutant.file).write_text(mutant.before)

    def run(self, tests: Tests, limit_s: float | None) -> tuple[bool, str, float]:
        """Whether all pass, the first that does not or TIME_LIMIT, and how long it took (s)."""
        begun_s = time.monotonic()
        argv = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=short", "-rfE", "-m", MARKS]
        argv += ["-p", "no:cacheprovider", *tests]
        # Two changes within a second leave a compiled file that looks new enough: write none.
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(self.path)}
        with subprocess.Popen(
            argv,
            cwd=self.path,
            env=env,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                out, _ = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                return False, TIME_LIMIT, time.monotonic() - begun_s
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        failed, error = FAILED.search(out), ERROR.search(out)
        self.error = f": {error[1]}" if error else ""
        why = failed[1] if failed else (out.strip().splitlines() or ["no output"])[-1]
        return process.returncode == 0, why, time.monotonic() - begun_s


def attempt(mutant: Mutant, copy: Copy, session: Session) -> Outcome:
    """Try a mutant by the tests that are nearest to it. Raises UnmutatedFails."""
    return _outcome((mutant,), nearest_tests(mutant), copy, session)


def together(
    mutants: Sequence[Mutant], copy: Copy, session: Session
) -> Iterator[tuple[Mutant, Outcome]]:
    """Try mutants that passed the nearest tests by all tests, those of different files at once.
    Raises UnmutatedFails."""
    left = list(mutants)
    while left:
        first = {mutant.file: mutant for mutant in reversed(left)}
        batch = [mutant for mutant in left if mutant is first[mutant.file]]
        left = [mutant for mutant in left if mutant not in batch]
        yield from _halved(batch, copy, session)


def _halved(
    batch: Sequence[Mutant], copy: Copy, session: Session
) -> Iterator[tuple[Mutant, Outcome]]:
    outcome, middle = _outcome(batch, ALL, copy, session), len(batch) // 2
    if outcome.killed and middle:
        yield from _halved(batch[:middle], copy, session)
        yield from _halved(batch[middle:], copy, session)
    else:
        yield from ((mutant, outcome) for mutant in batch)


def _outcome(mutants: Sequence[Mutant], tests: Tests, copy: Copy, session: Session) -> Outcome:
    begun_s = time.monotonic()
    limit_s = 60 + 3 * _unmutated_s(tests, copy, session)
    with copy.mutated(*mutants):
        by = _failing(tests, copy, limit_s)
    return Outcome(killed=bool(by), by=by, took_s=round(time.monotonic() - begun_s, 1))


def _failing(tests: Tests, copy: Copy, limit_s: float) -> str:
    """The test that fails, again on its own or again among the others; empty when none does.

    A test that failed once and then passed twice has failed for another reason than the mutant.
    """
    passed, first, _ = copy.run(tests, limit_s)
    if passed or first == TIME_LIMIT:
        return "" if passed else first
    for again in ((first,), tests):
        passed, failed, _ = copy.run(again, limit_s)
        if not passed:
            return failed
    return ""


def _unmutated_s(tests: Tests, copy: Copy, session: Session) -> float:
    """How long the tests take on the code as it is."""
    key = " ".join(tests)
    known = session.unmutated_s(key)
    if known is not None:
        return known
    passed, why, took_s = copy.run(tests, None)
    if not passed:
        raise UnmutatedFails(f"{why} fails without any mutant ({key}): mend it first{copy.error}")
    session.keep_unmutated(key, took_s)
    return took_s


def nearest_tests(mutant: Mutant) -> Tests:
    """The tests that a mutant is tried by first; of a pinned one the only one."""
    if mutant.test:
        return (mutant.test,)
    folder = ROOT / nearest(mutant.file)
    near = sorted(folder.glob("test_*.py"), key=lambda test: test.stem != _own(mutant.file))
    return tuple(str(test.relative_to(ROOT)) for test in near)


def _own(file: str) -> str:
    return f"test_{Path(file).stem}"


def nearest(file: str) -> str:
    """The folder of tests that mirrors a file's, or the nearest above it."""
    mirrored = Path("tests/unit") / Path(file).parent
    while not (ROOT / mirrored).is_dir():
        mirrored = mirrored.parent
    return str(mirrored)


def _names() -> Sequence[str]:
    """The files that the copy is to have."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.split("\0") if name and (ROOT / name).is_file()]
