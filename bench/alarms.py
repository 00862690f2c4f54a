"""How often `kafka-harness compare` is wrong, and how often it finds what is there.

    make bench-compare                           the study's and the matrix' ledgers, 200 draws
    python -m bench.alarms LEDGER… --draws 1000
    python -m bench.alarms                       only the nights below, which need no ledger

Each draw cuts every cell's runs at random into two halves, which do not differ: whatever is called
different is a false alarm, and at most 5 % of the draws may have one. Then the second half of one
cell that never lost anything is replaced by 20 runs of which each loses records with probability
one half, the first by 20 that lose none: at least 80 % of the draws must call that a rise.

Halves are as many; tonight's runs are few against those of all nights before, and most of them have
no gap at all. So nights of nine cells are drawn too, 42 runs old against 3 new and 14 against 1, in
which one run in ten has a gap, on both sides: at most 5 % of 120 may be called different.

Ends with 1 where something of this does not hold.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.studies.cells.shares import wilson
from analysis.studies.compare.compared import by_cell, compare
from harness.model.runs.ledger import read
from harness.model.runs.ledger_line import Line

FALSE_ALARMS, FOUND, RUNS = 0.05, 0.80, 20
NIGHTS, CELLS, WITH_GAP = ((42, 3), (14, 1)), 9, 0.1  # runs before and tonight; of which have a gap
NIGHTS_DRAWN = 120
Cells = Mapping[str, Sequence[Line]]


def main() -> int:
    """Print all shares; 1 where one misses its bar."""
    parser = argparse.ArgumentParser(prog="python -m bench.alarms", description=__doc__)
    parser.add_argument("ledgers", type=Path, nargs="*")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    held = [_of_nights(old, new, random.Random(asked.seed)) for old, new in NIGHTS]
    held += [_of_ledger(ledger, asked.draws, asked.seed) for ledger in asked.ledgers]
    return 0 if all(held) else 1


def _of_nights(old: int, new: int, drawn: random.Random) -> bool:
    """Whether nights that do not differ are seldom called different."""
    false = sum(
        bool(compare(_nights_runs(old, drawn), _nights_runs(new, drawn)).changed)
        for _ in range(NIGHTS_DRAWN)
    )
    sys.stdout.write(f"{CELLS} cells, {old} runs before and {new} tonight\n")
    return _few(f"called different, {WITH_GAP:.0%} of the runs with a gap", false, NIGHTS_DRAWN)


def _of_ledger(ledger: Path, draws: int, seed: int) -> bool:
    """Whether halves of a ledger are seldom called different, and a rise is found."""
    cells = _cells(read(ledger).standing)
    drawn = random.Random(seed)
    false = sum(_alarmed(cells, drawn) for _ in range(draws))
    found = sum(_found(cells, drawn) for _ in range(draws))
    runs = sum(map(len, cells.values()))
    sys.stdout.write(f"{ledger}: {runs} runs in {len(cells)} cells\n")
    few = _few("two halves called different", false, draws)
    enough = found >= FOUND * draws
    bar = f"at least {FOUND:.0%}"
    _say("a rise from 0 to 50 % at 20 runs found", found, draws, bar, enough)
    return few and enough


def _few(what: str, false: int, draws: int) -> bool:
    ok = false <= FALSE_ALARMS * draws
    _say(what, false, draws, f"at most {FALSE_ALARMS:.0%}", ok)
    return ok


def _say(what: str, hits: int, draws: int, bar: str, ok: bool) -> None:
    low, high = wilson(hits, draws)
    sys.stdout.write(
        f"  {what}: {hits} of {draws} ({low:.1%}–{high:.1%}), {bar}: {'met' if ok else 'MISSED'}\n"
    )


def _cells(lines: Sequence[Line]) -> Cells:
    return {name: runs for name, runs in by_cell(lines).items() if len(runs) > 1}


def _halves(cells: Cells, drawn: random.Random) -> tuple[list[Line], list[Line]]:
    one: list[Line] = []
    other: list[Line] = []
    for runs in cells.values():
        shuffled = drawn.sample(list(runs), len(runs))
        one += shuffled[: len(runs) // 2]
        other += shuffled[len(runs) // 2 :]
    return one, other


def _nights_runs(runs: int, drawn: random.Random) -> list[Line]:
    """So many runs of each cell, all of the same chances."""
    return [
        {
            "cell": f"cell {cell}",
            "seed": seed,
            "verdict": "valid",
            "anomalies": {},
            "produce_gaps_s": _gaps_s(drawn),
            "consume_gaps_s": _gaps_s(drawn),
            "starved_in_load": {"pressure_some_percent": 0.0},
        }
        for cell in range(CELLS)
        for seed in range(runs)
    ]


def _gaps_s(drawn: random.Random) -> list[float]:
    return [round(drawn.uniform(1, 10), 3)] if drawn.random() < WITH_GAP else []


def _alarmed(cells: Cells, drawn: random.Random) -> bool:
    """Whether two halves are called different in anything."""
    return bool(compare(*_halves(cells, drawn)).changed)


def _found(cells: Cells, drawn: random.Random) -> bool:
    """Whether the one cell that loses more is called different."""
    clean = [name for name, runs in cells.items() if not any(map(_lost, runs))]
    name = drawn.choice(clean)
    old, new = _halves({each: runs for each, runs in cells.items() if each != name}, drawn)
    like = cells[name][0]
    old += [_run(like, lost=0) for _ in range(RUNS)]
    new += [_run(like, lost=drawn.randrange(2)) for _ in range(RUNS)]
    return any(each.cell == name and each.what == "lost" for each in compare(old, new).changed)


def _lost(line: Line) -> int:
    found: int = line.get("anomalies", {}).get("lost", 0)
    return found


def _run(like: Line, lost: int) -> Line:
    return {**like, "verdict": "valid", "anomalies": {"lost": lost}}


if __name__ == "__main__":
    raise SystemExit(main())
