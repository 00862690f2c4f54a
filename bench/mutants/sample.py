"""A sample of what Cosmic Ray's operators can change, drawn by a seed.

At each place of the code one change is drawn, so that `+`, which eleven operators can replace,
counts no more than `not`. Places are ranked by a digest of the seed and of what stands there: a
change of one file changes nothing of what is drawn in the others. Left out is what changes nothing:
annotations, which nobody evaluates, code that reads the same to Python, and what is no Python.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from bench.mutants.mutant import MUTATED, Mutant
from harness.checkout import ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What an operator can change in a file."""

    file: str
    start: tuple[int, int]  # line and column
    operator: str
    occurrence: int  # of those that the operator can change in the file
    rank: str


def sample(seed: int, size: int) -> list[Mutant]:
    """So many mutants of the folders that are mutated; the same for the same seed."""
    files = [file for root in MUTATED for file in sorted((ROOT / root).rglob("*.py"))]
    return drawn(seed, size, {str(file.relative_to(ROOT)): file.read_text() for file in files})


def drawn(seed: int, size: int, texts: Mapping[str, str]) -> list[Mutant]:
    """So many mutants, or all that there are, of these files."""
    places = [place for name, text in texts.items() for place in _one_at_each(seed, name, text)]
    places.sort(key=lambda place: place.rank)
    return list(islice(_mutants(places, texts), size))


def _mutants(places: Sequence[Place], texts: Mapping[str, str]) -> Iterator[Mutant]:
    for place in places:
        before = texts[place.file]
        text = mutate_code(before, get_operator(place.operator)(), place.occurrence)
        if text is not None and _read(text) not in (None, _read(before)):
            yield Mutant(file=place.file, before=before, text=text)


def _one_at_each(seed: int, file: str, text: str) -> list[Place]:
    """Of all that can be changed at one place what ranks first."""
    best: dict[tuple[int, int], Place] = {}
    for place in _all(seed, file, text):
        known = best.get(place.start)
        if known is None or place.rank < known.rank:
            best[place.start] = place
    return list(best.values())


def _all(seed: int, file: str, text: str) -> Iterator[Place]:
    nodes, lines = list(ast_nodes(get_ast(text))), text.splitlines()
    seen: Counter[str] = Counter()
    for name, operator in _operators().items():
        positions = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, start in enumerate(positions):
            told = f"{seed} {file} {name} {start[1]} {lines[start[0] - 1].strip()}"
            seen[told] += 1
            rank = hashlib.sha256(f"{told} {seen[told]}".encode()).hexdigest()
            yield Place(file=file, start=start, operator=name, occurrence=occurrence, rank=rank)


@functools.cache
def _operators() -> dict[str, Any]:
    """Those that need not be told which variables to replace."""
    kinds = {name: get_operator(name) for name in operator_names()}
    return {name: kind() for name, kind in kinds.items() if not kind.arguments()}


def _read(text: str) -> str | None:
    """The code as Python reads it, without annotations; None if it cannot be read."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(value=None)
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
    return ast.dump(tree)
