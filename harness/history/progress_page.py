"""The progress page: a worker's counters, shared with the harness through a file.

It serves the harness's live line and holds sends back; it is not part of the history. Standard
library only: workers import this module.
"""

from __future__ import annotations

import mmap
from pathlib import Path


class _Cell:
    """One counter of a progress page."""

    def __init__(self, index: int) -> None:
        self._index = index

    def __get__(self, page: Progress, _: type | None = None) -> int:
        return page.cells[self._index]

    def __set__(self, page: Progress, number: int) -> None:
        page.cells[self._index] = number


RUNNING, DONE = 1, 2  # 0 as long as it starts


class Progress:
    """A page of counters that a worker writes and the harness reads, shared through a file.

    `allowed` goes the other way: the number of sends that the harness lets the worker begin, -1 for
    no limit. `refusal` is the code by which a broker refused for what it is the last send that got
    no ack; 0: that ended otherwise. Each counter is one aligned 8-byte store; two counters may be
    read a moment apart.
    """

    CELLS = 10
    sends, acked, failed, info = _Cell(0), _Cell(1), _Cell(2), _Cell(3)
    reads, last_ack_ns, state, errors = _Cell(4), _Cell(5), _Cell(6), _Cell(7)
    allowed = _Cell(8)
    refusal = _Cell(9)

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), 8 * self.CELLS)
        self.cells = memoryview(self._page).cast("q")

    @classmethod
    def create(cls, directory: Path, process: str) -> Progress:
        """A fresh page: all zero, no limit."""
        path = directory / f"{process}.progress"
        path.write_bytes(bytes(8 * cls.CELLS))
        page = cls(path)
        page.allow(None)
        return page

    @classmethod
    def open(cls, directory: Path, process: str) -> Progress:
        """The page that the harness made, or a fresh one where there is no harness."""
        path = directory / f"{process}.progress"
        return cls(path) if path.exists() else cls.create(directory, process)

    def allow(self, sends: int | None) -> None:
        """Let the worker begin `sends` sends in all; None: no limit."""
        self.allowed = -1 if sends is None else sends
