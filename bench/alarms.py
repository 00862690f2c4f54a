"""How often `kafka-harness compare` is wrong, and how often it finds what is there.

    make bench-compare                           the study's and the matrix' ledgers, 200 draws
    python -m bench.alarms LEDGER… --draws 1000

Each draw cuts every cell's runs at random into two halves, which do not differ: whatever is called
different is a false alarm, and at most 5 % of the draws may have one. Then the second half of one
cell that never lost anything is replaced by 20 runs of which each loses records with probability
one half, the first by 20 that lose none: at least 80 % of the draws must call that a rise. Ends
with 1 where one of the two does not hold.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.compare.compared import by_cell, compare
from analysis.studies.shares import wilson
from harness.model.runs.ledger import Line, read

FALSE_ALARMS, FOUND, RUNS = 0.05, 0.80, 20
Cells = Mapping[str, Sequence[Line]]


def main() -> int:
    """Print both shares; 1 where one misses its bar."""
    parser = argparse.ArgumentParser(prog="python -m bench.alarms", description=__doc__)
    parser.add_argument("ledgers", type=Path, nargs="+")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    code = 0
    for ledger in asked.ledgers:
        cells = _cells(read(ledger).standing)
        drawn = random.Random(asked.seed)
        false = sum(_alarmed(cells, drawn) for _ in range(asked.draws))
        found = sum(_found(cells, drawn) for _ in range(asked.draws))
        runs = sum(map(len, cells.values()))
        sys.stdout.write(f"{ledger}: {runs} runs in {len(cells)} cells\n")
        ok = false <= FALSE_ALARMS * asked.draws
        _say("two halves called different", false, asked.draws, f"at most {FALSE_ALARMS:.0%}", ok)
        code |= not ok
        ok = found >= FOUND * asked.draws
        _say(
            "a rise from 0 to 50 % at 20 runs found",
            found,
            asked.draws,
            f"at least {FOUND:.0%}",
            ok,
        )
        code |= not ok
    return code


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
