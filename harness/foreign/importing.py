"""kafka-harness import: files of somebody else's history become one run's folder.

A file is one of lines (harness.foreign.lines) or of Jepsen's EDN (harness.foreign.jepsen_edn), told
by its first characters; one import takes files of one kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from harness.foreign.final_read import LastPass, last_pass
from harness.foreign.folder import Wanted, make, refuse_name
from harness.foreign.gathered import Gathered, Reader, gathered
from harness.foreign.jepsen_edn import read_jepsen
from harness.foreign.lines import numbered, read_lines
from harness.history.record_format import HistoryError
from harness.model.runs.run_folder import RunFolder

_JEPSEN = re.compile(rb"\s*(\{\s*:|#jepsen)")


def import_files(
    files: Sequence[Path], final: Sequence[str], wanted: Wanted
) -> tuple[RunFolder, str]:
    """The sealed folder of what these files tell, and a sentence on it. Raises HistoryError,
    StoreError and DiskError."""
    refuse_name(wanted.name)
    if twice := [file for number, file in enumerate(files) if file in files[:number]]:
        raise HistoryError(f"{twice[0]}: it is given twice")
    readers = [(file, _reader(file)) for file in files]
    kinds = {reader for _, reader in readers}
    if len(kinds) > 1:
        odd = next(file for file, reader in readers if reader is not readers[0][1])
        raise HistoryError(
            f"{odd}: it is of another kind than {files[0]}: import one kind at a time"
        )
    found = gathered(readers)
    passed = last_pass(found, _processes(final, found))
    run = make(found, wanted, passed)
    return run, _summary(found, passed)


def _summary(found: Gathered, final: LastPass) -> str:
    acked = sum(found.acked.values())
    read = sum(len(each.offset) for each in found.reads.values())
    last = sum(int(stays.sum()) for stays in final.values())
    told = f"{last:,} by the final read" if final else "no final read"
    return f"{len(found.sends.type):,} sends, {acked:,} acked; {read:,} records read, {told}"


def _reader(file: Path) -> Reader:
    first = next(numbered(file), b"")
    return read_jepsen if _JEPSEN.match(first) else read_lines


def _processes(final: Sequence[str], found: Gathered) -> list[str]:
    """The readers that `--final` names: those of a file, or one by its name."""
    chosen: list[str] = []
    for which in final:
        named = found.files.get(str(Path(which))) or {which}
        mine = sorted(name for name in named if name in found.reads)
        if not mine:
            readers = ", ".join(found.reads) or "none"
            raise HistoryError(f"--final {which}: it read nothing; those that did: {readers}")
        chosen += mine
    return chosen
