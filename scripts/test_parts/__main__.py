"""Runs the tests in parts; for each it prints its failures, its tests, wall and CPU seconds.

    python -m scripts.test_parts                      all parts (`make test`)
    python -m scripts.test_parts unit checker         these
    python -m scripts.test_parts --second-try         as CI does (scripts.test_parts.second_try)
    python -m scripts.test_parts --live --times 5     those on clusters five times, without a second
                                                      try, and how often each test failed

CPU seconds are those of all processes of a part. "starved" is the share of the time in which
something on this host waited for a CPU. All of it is kept in build/tests.
Exit code 0: all passed; 1: not; 130, 143: interrupted.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType

from harness.checkout import ROOT
from harness.model.exit_codes import interrupted
from harness.waiting import WaitTimeout, wait_until
from scripts.test_parts import said
from scripts.test_parts.outcomes import closing_line
from scripts.test_parts.parts import LAB, PARTS, PODS, Part, phases
from scripts.test_parts.running import Ended, Running
from scripts.test_parts.second_try import failing_files, refusal

PROGRESS_S = 60


class Interrupted(BaseException):
    """A signal asks for the end; its number."""


def main(argv: Sequence[str], parts: Sequence[Part] = PARTS, root: Path = ROOT) -> int:
    """Run the parts that are asked for, of the checkout `root`."""
    asked = _arguments(argv, parts)
    folder = root / "build" / "tests" / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    chosen = [part for part in parts if part.name in asked.parts or not asked.parts]
    chosen = [part for part in chosen if part.live or not asked.live]
    begun_s = time.monotonic()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        begin = partial(Running, root=root)
        times = [_all(begin, chosen, folder / str(n + 1)) for n in range(asked.times)]
        again = _second_try(begin, times[0], folder / "second-try") if asked.second_try else []
    except Interrupted as signalled:
        return interrupted(signalled.args[0])
    if asked.times > 1:
        _say(said.how_often(times))
    ended = [each for once in times for each in once]
    tests = [outcome for each in ended for outcome in each.outcomes]
    _say([closing_line(tests, time.monotonic() - begun_s)])
    passed = all(each.passed for each in ended) or (again and all(each.passed for each in again))
    return 0 if passed else 1


def _arguments(argv: Sequence[str], parts: Sequence[Part]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.test_parts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [part.name for part in parts]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(names)}")
    parser.add_argument("--live", action="store_true", help="only those on clusters")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="run them N times")
    parser.add_argument("--second-try", action="store_true", help="as CI does")
    asked = parser.parse_args(argv)
    if unknown := set(asked.parts) - set(names):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: there are {', '.join(names)}")
    if asked.times < 1 or (asked.second_try and asked.times > 1):
        parser.error("--times must be at least 1, and it goes without --second-try")
    return asked


def _all(begin: Callable[..., Running], parts: Sequence[Part], folder: Path) -> list[Ended]:
    """All parts, phase by phase; the lab that pods need is built meanwhile."""
    lab = [begin(LAB, folder / LAB.name)] if PODS in parts else []
    found = []
    try:
        for phase in phases(parts):
            if PODS in phase:
                _wait(lab)
            found += _wait([begin(part, folder / part.name) for part in phase])
    except Interrupted:
        for each in lab:
            each.end()
        raise
    return found


def _wait(running: Sequence[Running]) -> list[Ended]:
    """Wait for their ends, tell every minute how far they are, and what came of them."""
    found = []
    left = list(running)
    told_s = time.monotonic()
    try:
        while left:
            with suppress(WaitTimeout):
                wait_until(
                    lambda: any(each.over() for each in left),
                    timeout_s=max(0.2, told_s + PROGRESS_S - time.monotonic()),
                    what="the end of a part",
                    every_s=0.2,
                )
            for each in [each for each in left if each.over()]:
                left.remove(each)
                found.append(each.ended())
                _say(said.of_part(found[-1]))
            if time.monotonic() >= told_s + PROGRESS_S:
                told_s = time.monotonic()
                now = datetime.now(UTC).strftime("%H:%M")
                _say([f"{now} {', '.join(each.progress() for each in left)}"])
    except Interrupted:
        for each in left:
            each.end()
        for each in left:
            each.ended()
        raise
    return found


def _second_try(begin: Callable[..., Running], first: Sequence[Ended], folder: Path) -> list[Ended]:
    """Each failing file once more; none where nothing failed, or one may not be tried again."""
    failed = [ended for ended in first if not ended.passed]
    if not failed:
        return []
    if why := refusal(failed):
        _say([f"no second try: {why}"])
        return []
    found: list[Ended] = []
    for ended, file in failing_files(failed):
        found += _wait([begin(ended.part, folder / str(len(found) + 1), [file])])
        if found[-1].passed:
            _say(said.of_flaky(ended, file))
    return found


def _interrupt(number: int, _: FrameType | None) -> None:
    raise Interrupted(number)


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
