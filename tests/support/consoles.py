"""The commands of a page, in its blocks of `console`, and whether what they say is what it shows.

    $ kafka-harness new mine          a command; what follows up to the next is its output
    mine.toml written…                … stands for anything within a line
    …                                 alone, for any number of lines
    $ echo $?                         the exit code of the command before is the next line
    1                                 (0 where the page does not say)

Runs of blanks count as one. A command without output may say anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ASKS_CODE = "echo $?"


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command of a page, and what it shows of it."""

    command: str
    shown: tuple[str, ...] = ()
    code: int = 0


def steps(page: str) -> list[Step]:
    """The commands in their order."""
    found: list[Step] = []
    for line in "".join(BLOCK.findall(page)).splitlines():
        if line.startswith("$ "):
            found.append(Step(command=line.removeprefix("$ ")))
        else:
            found[-1] = replace(found[-1], shown=(*found[-1].shown, line))
    return _with_codes(found)


def _with_codes(found: Sequence[Step]) -> list[Step]:
    asked = {number: step for number, step in enumerate(found) if step.command == ASKS_CODE}
    return [
        replace(step, code=int(asked[number + 1].shown[0]) if number + 1 in asked else 0)
        for number, step in enumerate(found)
        if number not in asked
    ]


def is_shown(said: str, shown: Sequence[str]) -> bool:
    """Whether a command said what the page shows."""
    lines = "".join(f"{_blanks(line)}\n" for line in said.splitlines())
    return not shown or re.fullmatch("".join(map(_pattern, shown)), lines) is not None


def _pattern(line: str) -> str:
    if line == "…":
        return r"(?:.*\n)*?"
    return ".*".join(map(re.escape, _blanks(line).split("…"))) + r"\n"


def _blanks(line: str) -> str:
    return " ".join(line.split())
