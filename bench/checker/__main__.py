"""`make bench-checker`: what checking costs, beside DuckDB on the same tables, and whether it is
within its bars.

    python -m bench.checker --sizes 1M --shapes clean,planted
    python -m bench.checker --sizes 10M --shapes clean

Of each size and shape: a made-up history (bench.checker.histories), then in turns our whole check
in a live session as a campaign keeps it, and DuckDB's; then ours by URI (clean ones up to 10M), in
a session of its own. Each twice in the same process; the second run counts. Then small runs, a
campaign, and questions over a hundred and a thousand runs (bench.ask). What both sides find must be
what was planted. Prints each number, what DuckDB was not asked and why, and each bar with its
ratio; exit 1 where one is missed or the counts differ.
`--jepsen PROGRAM` times `PROGRAM RUN` beside, of a million operations.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from analysis import anomalies
from bench import ask
from bench.checker import small
from bench.checker.bars import BARS, GIB, OF_SIZE, SIZES, missed
from bench.checker.coverage import ANOMALIES, DRIVER, MEASURES, Left
from bench.checker.histories import SHAPES, Made, write
from bench.checker.measure import Cost, Worker, whole

TURNS = ("first", "second")
SCANS = 6
LIVE = "0"  # operations that a session is started for which a campaign keeps
BY_URI = (("1M", "clean"), ("10M", "clean"))  # these are checked as runs in a store, too
_say = partial(print, flush=True)


class Measured:
    """All numbers by name, and what was wrong."""

    def __init__(self) -> None:
        self.numbers: dict[str, float] = {}
        self.wrong: list[str] = []

    def add(self, numbers: Mapping[str, float]) -> None:
        """More numbers; each is printed."""
        self.numbers |= numbers
        for name, number in numbers.items():
            _say(f"    {name:44} {number:10.2f}")

    def compare(self, who: str, found: Mapping[str, int], made: Made) -> None:
        """Whether a side found what was planted."""
        for name in sorted({*found, *made.expected}):
            have, want = found.get(name, 0), made.expected.get(name, 0)
            if have != want:
                self.wrong.append(f"{who}: {have} {name}, not {want}")


def main() -> None:
    """Measure, print, and exit with 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--sizes", default=",".join(SIZES), help="some of 1M,10M,100M, or none")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--rounds", type=int, default=3, help="of small runs; 0: none at all")
    parser.add_argument("--jepsen", metavar="PROGRAM", help="what judges a run as Jepsen does")
    asked = parser.parse_args()
    measured = Measured()
    with tempfile.TemporaryDirectory(prefix="bench-checker-") as temporary:
        folder = Path(temporary)
        for size in filter(None, asked.sizes.split(",")):
            shapes = [each for each in OF_SIZE[size] if each in asked.shapes.split(",")]
            _compare(measured, folder, size, shapes)
        if asked.rounds:
            _say("small runs")
            measured.add(small.beside_stock(folder, asked.rounds))
            measured.add(small.campaign(folder))
            _say("questions")
            grown = ask.compared(ask.SAMPLE, folder / "questions")
            measured.add({"questions wall": max(wall for wall, _ in grown.values())})
        _jepsen(measured, folder, asked.jepsen)
    _tell(measured)
    sys.exit(1 if measured.wrong or missed(BARS, measured.numbers) else 0)


def _compare(measured: Measured, folder: Path, size: str, shapes: list[str]) -> None:
    """All shapes of one size, in one live process a side."""
    operations = SIZES[size]
    with Worker("ours", LIVE) as ours, Worker("duckdb", str(operations)) as duckdb:
        start = ours.start
        measured.add({f"session start cpu {size}": start.cpu_s, f"start wall {size}": start.wall_s})
        for shape in shapes:
            made = write(folder / f"{size}-{shape}", operations, shape)
            of = f"{size} {shape}"
            _say(f"{of}: {made.operations:,} operations")
            cold, costs = _in_turns({"ours": ours, "duckdb": duckdb}, str(made.folder))
            measured.add({f"{side} cold cpu {of}": cost.cpu_s for side, cost in cold.items()})
            if (size, shape) in BY_URI:
                costs["by URI"] = _by_uri(made, operations)
            for side, cost in costs.items():
                measured.compare(f"{side}, {of}", cost.told["counts"], made)
            measured.add(dict(_numbers(costs, of)))
            measured.add({f"whole wall {of}": costs["ours"].wall_s + start.wall_s})
            if shape == "clean":
                unscreened = ours.do("unscreened", folder=str(made.folder)).told["cpu_s"]
                measured.add({f"without a screen cpu {of}": unscreened})
            scans = [duckdb.do("scan", folder=str(made.folder)).cpu_s for _ in range(SCANS)]
            # A tenth of a second each, of a million operations.
            measured.add({f"scan cpu {of}": statistics.mean(scans[1:])})
            check = whole([small.HARNESS, "check", str(made.folder)])
            measured.add({f"whole check cpu {of}": check.cpu_s})
            shutil.rmtree(made.folder)


def _by_uri(made: Made, operations: int) -> Cost:
    """The same of a run in a store."""
    with Worker("ours", str(operations)) as ours:
        cost = [ours.do("check", folder=str(made.folder), by_uri=True) for _ in TURNS][-1]
    _say(f"  by URI: {cost.cpu_s:.1f} CPU s")
    return cost


def _in_turns(sides: Mapping[str, Worker], folder: str) -> tuple[dict[str, Cost], dict[str, Cost]]:
    """The first and the second run of each side."""
    sides["duckdb"].do("know", folder=folder)
    cold, warm = (
        {name: side.do("check", folder=folder) for name, side in sides.items()} for _ in TURNS
    )
    for turn, costs in zip(TURNS, (cold, warm), strict=True):
        told = (f"{name} {cost.cpu_s:.1f} CPU s" for name, cost in costs.items())
        _say(f"  {turn}: {', '.join(told)}")
    return cold, warm


def _numbers(costs: Mapping[str, Cost], of: str) -> Iterator[tuple[str, float]]:
    for side, cost in costs.items():
        yield f"{side} cpu {of}", cost.cpu_s
        yield f"{side} wall {of}", cost.wall_s
        yield f"{side} GiB {of}", cost.pss_bytes / GIB
        if "shuffled" in cost.told:
            yield f"{side} shuffled MiB {of}", cost.told["shuffled"] / 2**20
        for part, took in cost.told.get("apart", {}).items():
            yield f"{side} apart: {part} cpu {of}", took


def _jepsen(measured: Measured, folder: Path, program: str | None) -> None:
    """Jepsen's own checker on a clean history of a million operations."""
    if program is None:
        _say("Jepsen: not asked (--jepsen PROGRAM)")
        return
    made = write(folder / "jepsen", SIZES["1M"], "clean")
    cost = whole([*shlex.split(program), str(made.folder)])
    measured.add({"jepsen cpu 1M clean": cost.cpu_s, "jepsen wall 1M clean": cost.wall_s})


def _tell(measured: Measured) -> None:
    asked = [name for name, way in ANOMALIES.items() if not isinstance(way, Left)]
    _say(f"both sides: {', '.join([*asked, *MEASURES])}")
    for name, way in {**ANOMALIES, **DRIVER}.items():
        if isinstance(way, Left):
            apart = f", timed apart ({way.apart})" if way.apart else ""
            _say(f"ours alone: {name}: {way.why}{apart}")
    unsigned = [each.name for each in anomalies.ANOMALIES if each.signs is None]
    _say(f"ours, without a screen: {', '.join(unsigned)}")
    for bar in BARS:
        _say(bar.line(measured.numbers))
    for each in measured.wrong:
        _say(f"WRONG    {each}")


if __name__ == "__main__":
    main()
