"""What `make test` prints of a part that has ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from scripts.test_parts.outcomes import starved_percent
from scripts.test_parts.running import Ended

LAST_LINES = 40  # of a part that could not tell its tests


def of_part(ended: Ended) -> Iterator[str]:
    """Its failures, whole, and what it cost."""
    for each in ended.outcomes:
        if each.bad:
            yield f"\n____ {each.word}: {each.file}::{each.name} ____\n{each.details}"
    reasons = Counter(each.message for each in ended.outcomes if each.word == "skipped")
    yield from (f"{ended.part.name}: {number} skipped: {why}" for why, number in reasons.items())
    for left in ended.left:
        yield f"{ended.part.name} left a process behind: {left}"
    if not ended.passed and not ended.told:
        lines = (ended.folder / "log.txt").read_text(errors="replace").splitlines()
        yield "\n".join([f"{ended.part.name} ended with {ended.code}:", *lines[-LAST_LINES:]])
    if not ended.passed:
        yield f"{ended.part.name}: kept in {ended.folder}"
    yield cost(ended)


def cost(ended: Ended) -> str:
    """One line: tests, wall and CPU seconds, and how starved of CPU the host was."""
    tests = f"{len(ended.outcomes):6,} tests" if ended.part.paths else " " * 12
    if not ended.measured:
        return f"{ended.part.name:14}{tests}, not measured: it was killed"
    wall_s, cpu_s = ended.measured["wall_s"], ended.measured["cpu_s"]
    percent = ended.measured["starved_percent"]
    starved = "not known" if percent is None else f"{percent:.0f} %"
    return f"{ended.part.name:14}{tests} {wall_s:7.0f} s {cpu_s:7.0f} CPU s   starved {starved}"


def of_flaky(first: Ended, file: str) -> Iterator[str]:
    """A file that passed at its second try: what failed at its first."""
    of_file = [outcome for outcome in first.outcomes if outcome.file == file]
    for each in of_file:
        if each.bad:
            yield f"FLAKY {file}::{each.name}: {each.message}"
    yield (
        f"FLAKY {file} passed at its second try; at its first, something waited for a CPU"
        f" {starved_percent(of_file):.0f} % of the time. Kept in {first.folder}"
    )


def how_often(times: Sequence[Sequence[Ended]]) -> Iterator[str]:
    """Of each test that failed, how often; then how many never did."""
    failed, ran = Counter[str](), Counter[str]()
    for ended in (each for once in times for each in once):
        bad = {f"{each.file}::{each.name}": each.bad for each in ended.outcomes}
        bad |= {f"{each.file}::{each.name}": True for each in ended.outcomes if each.bad}
        ran.update(list(bad))
        failed.update(name for name, is_bad in bad.items() if is_bad)
    for name, count in failed.most_common():
        yield f"failed {count} of {ran[name]} times: {name}"
    yield f"{len(ran) - len(failed)} tests failed none of {len(times)} times"
