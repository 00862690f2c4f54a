"""docs/mutants.md: how many mutants the tests noticed, and every one that they did not.

Why a survivor is no defect stands in reasons.toml, written by hand, by what the line was and became
(as the page shows it): once the line is another one, the reason explains nothing any more.

    [[survivor]]
    file = "workloads/final_read.py"
    old = "ASK_LIMIT_S = 5.0"
    new = "ASK_LIMIT_S = 6.0"
    why = "a limit: a second more changes no result"
"""

from __future__ import annotations

import html
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from bench.mutants.mutant import MUTATED, Mutant
from bench.mutants.session import TIME_LIMIT, Session
from harness.checkout import DOCS

PAGE = DOCS / "mutants.md"
TEMPLATE, REASONS = (Path(__file__).with_name(name) for name in ("mutants.md.j2", "reasons.toml"))
UNEXPLAINED = "not yet explained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a survivor is no defect."""

    file: str
    old: str  # the changed line, or lines, without indents
    new: str
    why: str


def reasons() -> list[Reason]:
    """Those that were written by hand."""
    told = tomllib.loads(REASONS.read_text()).get("survivor", [])
    return [Reason(**each) for each in told]


def render(seed: int, pinned: Sequence[Mutant], sampled: Sequence[Mutant], session: Session) -> str:
    """The page, as far as mutants have been tried."""
    texts = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    texts.filters["code"] = _code
    by_part = {f"`{part}/`": [m for m in sampled if m.file.startswith(part)] for part in MUTATED}
    return texts.from_string(TEMPLATE.read_text()).render(
        seed=seed,
        size=len(sampled),
        parts=", ".join(by_part),
        rows=[_row(name, told, session) for name, told in {"pinned": pinned, **by_part}.items()],
        survivors=_survivors((*pinned, *sampled), session),
    )


def _row(name: str, mutants: Sequence[Mutant], session: Session) -> dict[str, Any]:
    outcomes = [o for o in (session.outcome(m.key) for m in mutants) if o is not None]
    killed = [outcome for outcome in outcomes if outcome.killed]
    late = sum(outcome.by == TIME_LIMIT for outcome in killed)
    counts = {"mutants": len(mutants), "tried": len(outcomes), "killed": len(killed)}
    return {"name": name, **counts, "late": late}


def _survivors(mutants: Sequence[Mutant], session: Session) -> list[dict[str, Any]]:
    known = {(r.file, r.old, r.new): r.why for r in reasons()}
    found = []
    for mutant in mutants:
        outcome = session.outcome(mutant.key)
        if outcome is not None and not outcome.killed:
            line, old, new = mutant.change
            why = known.get((mutant.file, old, new), UNEXPLAINED)
            found.append({"file": mutant.file, "line": line, "old": old, "new": new, "why": why})
    return sorted(found, key=lambda each: (each["file"], each["line"]))


def _code(text: str) -> str:
    """Code in a cell of a table, where a | would end the cell."""
    return f"<code>{html.escape(text, quote=False).replace('|', '&#124;')}</code>"
