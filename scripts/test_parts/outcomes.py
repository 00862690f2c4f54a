"""What a part's JUnit file tells: each test, how it ended, when, and how starved the host was.

With `junit_family=xunit1` an entry has its file; `scripts.test_parts.starvation` adds the times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

WORDS = {"failure": "failed", "error": "error", "skipped": "skipped"}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One test."""

    file: str
    name: str
    word: str  # passed, failed, error or skipped
    message: str = ""
    details: str = ""
    begun: float = 0.0  # s since 1970; 0: not told, as of a file that could not be collected
    ended: float = 0.0
    waited_s: float = -1.0

    @property
    def bad(self) -> bool:
        """Whether it failed, in itself or in its fixtures."""
        return self.word in ("failed", "error")


def read(junit: Path) -> list[Outcome]:
    """All tests of a JUnit file; none where pytest ended before it could write one."""
    if not junit.exists():
        return []
    try:
        tree = ElementTree.parse(junit)  # noqa: S314  pytest wrote it
    except ElementTree.ParseError:
        return []
    return [outcome for case in tree.iter("testcase") for outcome in _of(case)]


def _of(case: ElementTree.Element) -> Iterable[Outcome]:
    """A test has an outcome for each phase that did not pass, and one if all did."""
    told = {each.get("name"): float(each.get("value", "0")) for each in case.iter("property")}
    test = Outcome(
        file=case.get("file") or case.get("name") or "",
        name=case.get("name") or "",
        word="passed",
        begun=told.get("begun", 0.0),
        ended=told.get("ended", 0.0),
        waited_s=told.get("waited_s", -1.0),
    )
    output = "".join(each.text or "" for each in case if each.tag.startswith("system-"))
    found = [
        replace(
            test,
            word=WORDS[each.tag],
            message=each.get("message") or "",
            details=(each.text or "") + output,
        )
        for each in case
        if each.tag in WORDS
    ]
    return found or [test]


def starved_percent(outcomes: Iterable[Outcome]) -> float | None:
    """The share of these tests' time in which something waited for a CPU; None: not known."""
    timed = [each for each in outcomes if each.ended > each.begun and each.waited_s >= 0]
    took_s = sum(each.ended - each.begun for each in timed)
    return 100 * sum(each.waited_s for each in timed) / took_s if took_s else None


def closing_line(outcomes: Iterable[Outcome], seconds: float) -> str:
    """The line that pytest ends with, of all parts together."""
    words = [each.word for each in outcomes]
    counts = {word: words.count(word) for word in ("failed", "passed", "skipped", "error")}
    told = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    minutes, rest = divmod(int(seconds), 60)
    clock = f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
    text = f" {told or 'no tests ran'} in {seconds:.2f}s ({clock}) "
    return text.center(100, "=")
