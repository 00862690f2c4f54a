"""What is known of mutants so far: a file of JSON lines, one a trial.

    {"event": "trial", "key": "…", "outcome": "killed", "by": "tests/…::test_…", "took_s": 9.1,
     "tests": "…"}
    {"event": "passed", "key": "…", "tests": "…"}
    {"event": "unmutated", "key": "…", "took_s": 14.2, "code": "…"}

A mutant that a test killed stays killed for as long as its text is the same. One that survived, or
passed the nearest tests, is tried again once any test has changed (`tests` is their digest), and
the unmutated code once anything has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.checkout import ROOT
from harness.history.recorder import Lines

CODE = ("harness", "workloads", "analysis", "bench", "tests")

FOLDER = ROOT / ".mutants"
TIME_LIMIT = "the time limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a mutant."""

    killed: bool
    by: str  # the first test that failed, or TIME_LIMIT; empty: none
    took_s: float


@dataclass(kw_only=True)
class Session:
    """Everything that was tried; grows with each trial."""

    file: Path
    tests: str  # digest of the tests as they are now
    code: str  # digest of all code
    lines: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path = FOLDER) -> Session:
        """What was tried before; a line that was cut short is passed over."""
        folder.mkdir(exist_ok=True)
        file = folder / "session.jsonl"
        return cls(file=file, tests=digest("tests"), code=digest(*CODE), lines=list(_lines(file)))

    def outcome(self, key: str) -> Outcome | None:
        """What came of a mutant when it was tried last."""
        line = self._last("trial", key)
        if line is None:
            return None
        killed = line["outcome"] == "killed"
        return Outcome(killed=killed, by=line["by"], took_s=line["took_s"])

    def holds(self, key: str) -> bool:
        """Whether what came of a mutant would come of it again."""
        line = self._last("trial", key)
        return line is not None and (line["outcome"] == "killed" or line["tests"] == self.tests)

    def keep(self, key: str, outcome: Outcome) -> None:
        """Write down what came of a mutant."""
        told = "killed" if outcome.killed else "survived"
        self._write(
            "trial", key=key, outcome=told, by=outcome.by, took_s=outcome.took_s, tests=self.tests
        )

    def passed(self, key: str) -> bool:
        """Whether a mutant passed the tests that are nearest to it."""
        line = self._last("passed", key)
        return line is not None and line["tests"] == self.tests

    def keep_passed(self, key: str) -> None:
        """Write down that a mutant passed the nearest tests; all others are to try it yet."""
        self._write("passed", key=key, tests=self.tests)

    def unmutated_s(self, key: str) -> float | None:
        """How long these tests took on the unmutated code, which passed them; None: not known."""
        line = self._last("unmutated", key)
        return float(line["took_s"]) if line and line["code"] == self.code else None

    def keep_unmutated(self, key: str, took_s: float) -> None:
        """Write down that the unmutated code has passed these tests."""
        self._write("unmutated", key=key, took_s=round(took_s, 1), code=self.code)

    def _last(self, event: str, key: str) -> dict[str, Any] | None:
        same = (line for line in reversed(self.lines) if line["event"] == event)
        return next((line for line in same if line["key"] == key), None)

    def _write(self, event: str, **told: Any) -> None:
        lines = Lines(self.file)
        lines.write(event, **told)
        lines.close()
        self.lines.append({"event": event, **told})


def digest(*folders: str) -> str:
    """A digest of the Python files below these folders."""
    whole = hashlib.sha256()
    for file in sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py")):
        whole.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return whole.hexdigest()[:16]


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        for line in file.read_text().splitlines():
            with suppress(ValueError):
                yield json.loads(line)
