"""A mutant: a file of ours with one small change that some test has to notice.

The pinned ones stand in pinned.toml, written by hand; each names the test that notices it.

    [[mutant]]
    what = "any position counts as complete"
    file = "workloads/final_read.py"
    old = "position >= before.uncommitted_end"
    new = "position >= 0"
    test = "tests/unit/workloads/test_final_read_ends.py::test_a_read_that_stopped_before_…"

The old text stands in its file exactly once; a test holds that.
"""

from __future__ import annotations

import difflib
import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness.checkout import ROOT

MUTATED = ("analysis", "harness/history", "workloads")  # where the sample is drawn
PINNED = Path(__file__).with_name("pinned.toml")


class PinError(Exception):
    """A pinned mutant cannot be made: one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One changed file."""

    file: str  # from the checkout's root
    before: str  # the file's whole text
    text: str  # the same, changed
    what: str = ""  # of a pinned one
    test: str = ""  # the test that has to notice it; empty: any may

    @property
    def key(self) -> str:
        """The same for the same change of the same text, tried by the same test."""
        told = "\0".join((self.file, self.text, self.test))
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    @property
    def place(self) -> str:
        """The file and the line of the change."""
        return f"{self.file}:{self.change[0]}"

    @property
    def change(self) -> tuple[int, str, str]:
        """The number of the first line that differs, and what it was and is, without its indent."""
        olds, news = self.before.splitlines(), self.text.splitlines()
        matcher = difflib.SequenceMatcher(a=olds, b=news, autojunk=False)
        blocks = [block for block in matcher.get_opcodes() if block[0] != "equal"]
        first, last = blocks[0], blocks[-1]
        old, new = olds[first[1] : last[2]], news[first[3] : last[4]]
        return first[1] + 1, _joined(old), _joined(new)


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A mutant of the list, before it is made."""

    what: str
    file: str
    old: str
    new: str
    test: str

    def made(self) -> Mutant:
        """The mutant. Raises PinError when its old text is not there exactly once."""
        before = (ROOT / self.file).read_text()
        if (times := before.count(self.old)) != 1:
            raise PinError(
                f"{PINNED.name}: {self.what}: its old text is {times} times in {self.file}: "
                "change the pin as the code has changed"
            )
        text = before.replace(self.old, self.new)
        return Mutant(file=self.file, before=before, text=text, what=self.what, test=self.test)


def pins() -> list[Pin]:
    """The list of mutants that were written by hand."""
    told = tomllib.loads(PINNED.read_text())["mutant"]
    return [Pin(**each) for each in told]
