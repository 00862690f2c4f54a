"""Links from a run's page to the files of its own folder: logs, history, evidence.

All links are relative and lead to regular files of the folder, never through a link of the file
system. Names are anybody's: they are quoted in addresses and escaped as texts. A name is a link
only if its ending says that a browser shows or stores it and runs nothing of it; any other file is
not named at all.

    logs/kafka1.log         =>  a link
    logs/a b#1.log          =>  a link to logs/a%20b%231.log
    logs/page.html          =>  nothing: a browser would run its scripts
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

HARMLESS = (".json", ".jsonl", ".log", ".parquet", ".txt")
MOST = 60  # of a group: the page is no directory
GROUPS = {
    "Logs": "logs",
    "History": "history",
    "Operations": "history/operations",
    "Evidence and tables": "analysis",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A relative address and what stands for it."""

    href: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Links to the files of one folder, the first of them where there are too many."""

    title: str
    folder: str
    links: Sequence[Link]
    more: int


def run_files(run: Path) -> list[Group]:
    """The files of a run that its page links to, by folder; empty groups are left out."""
    groups = [_group(title, run, folder) for title, folder in GROUPS.items()]
    return [group for group in groups if group.links]


def address(*parts: str) -> str:
    """A relative address of these names, each quoted; half a character stays the byte it was."""
    return "/".join(quote(os.fsencode(part), safe="") for part in parts)


def _group(title: str, run: Path, folder: str) -> Group:
    names = sorted(_names(run / folder))
    links = [
        Link(
            href=address(*folder.split("/"), name), name=os.fsencode(name).decode(errors="replace")
        )
        for name in names[:MOST]
    ]
    return Group(title=title, folder=folder, links=links, more=len(names) - len(links))


def _names(folder: Path) -> list[str]:
    """Regular files whose ending is harmless, and the folders that a table is."""
    found = []
    if folder.is_symlink() or folder.parent.is_symlink():
        return []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                table = stat.S_ISDIR(mode) and folder.name == "analysis"
                if (stat.S_ISREG(mode) or table) and entry.name.endswith(HARMLESS):
                    found.append(entry.name)
    except FileNotFoundError:  # a run without logs, or still going on
        return []
    return found
