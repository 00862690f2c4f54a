"""Writes the picture and the table of rooms in docs/architecture.md from the real imports.

    python scripts/architecture.py            writes
    python scripts/architecture.py --check    ends with 1 if the page is not what it would write

A room is a folder; an arrow says that somebody inside imports something of the other, late imports
counted. What follows from two arrows is left out: who imports cli may be read along the arrows.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from functools import cache

import grimp

from harness.checkout import DOCS, ROOT

PAGE = DOCS / "architecture.md"
PACKAGES = ("harness", "workloads", "analysis")
LEAVES = {
    "harness.waiting",
    "harness.checkout",
    "harness.release",
}  # nearly everybody's; arrows to them tell nothing

Arrows = Mapping[str, frozenset[str]]


def room_of(module: str) -> str:
    """The folder at the second level that holds a module; a module that lies there by itself."""
    parts = module.split(".")
    if parts[0] == "workloads" or len(parts) == 1:
        return parts[0]
    return ".".join(parts[:2])


@cache
def arrows() -> Arrows:
    """Room -> the rooms that it imports of."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    found: dict[str, set[str]] = {room_of(m): set() for m in graph.modules if m not in PACKAGES}
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            found.setdefault(room_of(importer), set()).add(room_of(imported))
    return {
        room: frozenset(others - {room, *LEAVES, *PACKAGES} | others & {"workloads"} - {room})
        for room, others in sorted(found.items())
        if room not in LEAVES and room not in ("harness", "analysis")
    }


def reduced(graph: Arrows) -> Arrows:
    """The same without arrows that follow from others (the graph has no cycle)."""

    @cache
    def reach(room: str) -> frozenset[str]:
        return graph[room].union(*(reach(other) for other in graph[room]))

    return {
        room: frozenset(o for o in others if not any(o in reach(x) for x in others - {o}))
        for room, others in graph.items()
    }


def picture(graph: Arrows) -> str:
    """A Mermaid flowchart, a box a room, the packages as frames."""
    lines = ["```mermaid", "flowchart TD"]
    for package in PACKAGES:
        rooms = [room for room in graph if room.split(".")[0] == package]
        lines.append(f'    subgraph package_{package}["{package}"]')  # no room has its id
        lines += [f'        {_id(room)}["{room.split(".")[-1]}"]' for room in rooms]
        lines.append("    end")
    lines += [f"    {_id(a)} --> {_id(b)}" for a, others in graph.items() for b in sorted(others)]
    return "\n".join([*lines, "```"])


def _id(room: str) -> str:
    return room.replace(".", "_")


def table(graph: Arrows) -> str:
    """What each room says of itself: the first sentence of its docstring."""
    lines = ["| room | what is inside |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{_path(room)}` | {_says(room)} |" for room in graph)])


def _path(room: str) -> str:
    path = room.replace(".", "/")
    return f"{path}/" if (ROOT / path).is_dir() else f"{path}.py"


def _says(room: str) -> str:
    path = ROOT / _path(room)
    file = path / "__init__.py" if path.is_dir() else path
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def page(text: str) -> str:
    """The page with picture and table made anew."""
    parts = {"picture": picture(reduced(arrows())), "rooms": table(arrows())}
    for name, made in parts.items():
        begin, end = f"<!-- {name}: python scripts/architecture.py -->", f"<!-- end of {name} -->"
        pattern = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.DOTALL)
        text = pattern.sub(lambda _: f"{begin}\n\n{made}\n\n{end}", text)  # noqa: B023  at once
    return text


def main(argv: list[str]) -> int:
    """Write, or check."""
    text = PAGE.read_text()
    new = page(text)
    if "--check" in argv:
        return int(new != text)
    PAGE.write_text(new)
    sys.stdout.write(f"{PAGE} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
