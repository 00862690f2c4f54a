"""The bars that a checker has to pass, as data: left is at most `factor` times right.

Each side is a product of measured numbers, named as bench.checker.__main__ prints them. A bar of
which a number was not measured (another size or shape was asked for) is not run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.ask import FEW, MANY, MOST
from bench.checker.histories import SHAPES

GIB = 1 << 30
SIZES = {"1M": 1_000_000, "10M": 10_000_000, "100M": 100_000_000}
OF_SIZE = {"1M": SHAPES, "10M": SHAPES, "100M": ("clean", "planted")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """left <= factor * right."""

    name: str
    left: tuple[str, ...]
    right: tuple[str, ...] = ()  # none: 1
    factor: float

    def ratio(self, measured: Mapping[str, float]) -> float | None:
        """Left to right; None: not run."""
        try:
            left, right = (math.prod(measured[n] for n in side) for side in (self.left, self.right))
        except KeyError:
            return None
        return left / right

    def line(self, measured: Mapping[str, float]) -> str:
        """What it says, with its ratio."""
        ratio = self.ratio(measured)
        if ratio is None:
            return f"not run  {self.name}"
        word = "met     " if ratio <= self.factor else "MISSED  "
        return f"{word} {self.name}: {ratio:.3g} (at most {self.factor:.3g})"


def missed(bars: Sequence[Bar], measured: Mapping[str, float]) -> list[Bar]:
    """Those that were run and are not met."""
    ratios = ((bar, bar.ratio(measured)) for bar in bars)
    return [bar for bar, ratio in ratios if ratio is not None and ratio > bar.factor]


def _beside_duckdb(size: str, shape: str, factor: float, way: str = "ours") -> Bar:
    return Bar(
        name=f"{size} {shape}: {way} beside DuckDB, CPU",
        left=(f"{way} cpu {size} {shape}",),
        right=(f"duckdb cpu {size} {shape}",),
        factor=factor,
    )


def _growth(shape: str) -> tuple[Bar, Bar]:
    ours = {size: f"ours cpu {size} {shape}" for size in SIZES}
    duckdb = {size: f"duckdb cpu {size} {shape}" for size in SIZES}
    return (
        Bar(
            name=f"100M {shape}: beside 10M, CPU",
            left=(ours["100M"],),
            right=(ours["10M"],),
            factor=12,
        ),
        Bar(
            name=f"100M {shape}: growth from 10M beside DuckDB's growth, CPU",
            left=(ours["100M"], duckdb["10M"]),
            right=(ours["10M"], duckdb["100M"]),
            factor=1,
        ),
    )


BARS: tuple[Bar, ...] = (
    _beside_duckdb("1M", "clean", 1.5),
    _beside_duckdb("1M", "planted", 4),
    _beside_duckdb("10M", "clean", 1),
    _beside_duckdb("10M", "planted", 1),
    *(
        _beside_duckdb(size, shape, 2)
        for size in ("1M", "10M")
        for shape in ("tail-lost", "scattered-lost")
    ),
    _beside_duckdb("10M", "clean", 2, way="by URI"),
    *_growth("clean"),
    *_growth("planted"),
    *(
        Bar(
            name=f"{size} {shape}: memory of all processes, in GiB",
            left=(f"ours GiB {size} {shape}",),
            factor=4e9 / GIB,
        )
        for size, shapes in OF_SIZE.items()
        for shape in shapes
    ),
    *(
        Bar(
            name=f"{size} {shape}: DuckDB beside its own bare scan, CPU",
            left=(f"duckdb cpu {size} {shape}",),
            right=(f"scan cpu {size} {shape}",),
            factor=32,
        )
        for size, shapes in OF_SIZE.items()
        for shape in shapes
    ),
    *(
        Bar(
            name=f"small run: whole process beside stock Spark's count, {what}",
            left=(f"small {what}",),
            right=(f"stock {what}",),
            factor=factor,
        )
        for what, factor in (("wall", 0.75), ("cpu", 0.62))
    ),
    Bar(
        name="campaign: the tenth check beside the first, CPU",
        left=("tenth cpu",),
        right=("first cpu",),
        factor=1 / 3,
    ),
    Bar(
        name=f"questions: {MANY:,} runs beside {FEW}, wall, the question that grows most",
        left=("questions wall",),
        factor=MOST,
    ),
)
