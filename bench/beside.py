"""Recording as it was at another commit, beside today's: `python -m bench.beside REVISION`.

The bare loop, the recorded one of that commit and today's take turns at each rate, each in a
process of its own tree (bench.recorder, which that commit must have). Told are medians, and the
medians of both ratios to the bare loop; then CPU µs of one recorded operation, as each tree has it.

Where KAFKA names brokers these are used, else librdkafka's mock cluster, as bench.recorder does.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.recorder import OPERATIONS, RATES, UNBOUNDED, make_topic
from harness.checkout import ROOT

LOOPS = """
import gc, sys
from bench.recorder import BareSender, Sender, cost_per_operation, loop
gc.disable()
kinds = {"bare": BareSender, "recorded": Sender}
for line in sys.stdin:
    what, number, seconds = line.split()
    if what == "cost":
        told = cost_per_operation(int(number))
    else:
        told = loop(kinds[what], float(number), float(seconds))
    print(told, flush=True)
"""
WAYS = ("bare", "then", "now")


class Tree:
    """A process that measures what its tree has."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", LOOPS],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, what: str, number: float, seconds: float = 0) -> float:
        """A loop's sends a second, or the cost of so many operations."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what} {number} {seconds}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """That commit's tree, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        tree = Path(temporary, "tree")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("revision", help="a commit, as git names it")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one loop")
    parser.add_argument("--rounds", type=int, default=5, help="loops of each kind at each rate")
    asked = parser.parse_args()
    if brokers := os.environ.get("KAFKA"):
        make_topic(brokers)
    print(f"at {brokers or 'the mock cluster of librdkafka'}, loops taking turns:")
    print(f"{'asked':>10} {'bare':>10} {'then':>10} {'now':>10}  then/bare  now/bare")
    with ExitStack() as stack:
        then = stack.enter_context(Tree(stack.enter_context(checked_out(asked.revision))))
        now = stack.enter_context(Tree(ROOT))
        for rate in RATES:
            print(compared(then, now, min(rate, UNBOUNDED), asked.seconds, asked.rounds))
        for name, tree in (("then", then), ("now", now)):
            costs = [tree.ask("cost", OPERATIONS) for _ in range(asked.rounds)]
            print(f"{name}: {statistics.median(costs):.2f} µs of CPU an operation")


def compared(then: Tree, now: Tree, rate: float, seconds: float, rounds: int) -> str:
    """A line: what each reaches at one rate."""
    trees = {"bare": (now, "bare"), "then": (then, "recorded"), "now": (now, "recorded")}
    reached: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(rounds):
        for way in WAYS[turn % 3 :] + WAYS[: turn % 3]:
            tree, kind = trees[way]
            reached[way].append(tree.ask(kind, rate, seconds))
    bare = reached["bare"]
    ratios = (
        statistics.median(each / b for each, b in zip(reached[way], bare, strict=True))
        for way in ("then", "now")
    )
    medians = " ".join(f"{statistics.median(reached[way]):10,.0f}" for way in WAYS)
    words = "most" if rate == UNBOUNDED else f"{rate:,.0f}"
    return f"{words:>10} {medians}  " + "  ".join(f"{ratio:9.2f}" for ratio in ratios)


if __name__ == "__main__":
    main()
