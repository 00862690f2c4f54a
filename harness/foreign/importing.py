"""kafka-harness import: makes the folder of one run of the files of another program's history.

A file has lines or Jepsen's EDN (harness.foreign.formats); its first characters show which. One
import takes files of one kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.foreign.earlier_runs import part_earlier, place_sends
from harness.foreign.final_read import LastPass, last_pass
from harness.foreign.formats.jepsen_edn import is_jepsen, read_jepsen
from harness.foreign.formats.lines import read_lines
from harness.foreign.imported_run import ImportRequest, refuse_name, write_run
from harness.foreign.line_tables import facts_of, rows_of
from harness.foreign.parsed_history import ParsedHistory, Reader, parse_files
from harness.history.record_format import HistoryError
from harness.model.runs.imported_history import summary
from harness.model.runs.run_folder import RunFolder


def import_files(
    files: Sequence[Path], final: Sequence[str], request: ImportRequest
) -> tuple[RunFolder, str]:
    """The sealed folder of the history in these files, and a sentence on it. Raises HistoryError,
    StoreError and DiskError."""
    refuse_name(request.name)
    if twice := [file for number, file in enumerate(files) if file in files[:number]]:
        raise HistoryError(f"{twice[0]}: it is given twice")
    readers: list[tuple[Path, Reader]] = [
        (file, read_jepsen if is_jepsen(file) else read_lines) for file in files
    ]
    kinds = {reader for _, reader in readers}
    if len(kinds) > 1:
        odd = next(file for file, reader in readers if reader is not readers[0][1])
        raise HistoryError(
            f"{odd}: it is of another kind than {files[0]}: import one kind at a time"
        )
    history, about = parse_files(readers), request.about
    history.new_topic = kinds == {read_jepsen}  # its tests make their topics
    parted = part_earlier(history, about)
    place_sends(history)
    final_read = last_pass(history, _readers(final, history))
    facts = facts_of(history, parted)
    run = write_run(facts, request, lambda _: rows_of(history, final_read, about))
    return run, _summary(history, final_read)


def _summary(history: ParsedHistory, final: LastPass) -> str:
    acked = sum(history.acked.values())
    read = sum(len(reads.offset) for reads in history.reads.values())
    by_final_read = f"{sum(int(is_final.sum()) for is_final in final.values()):,} by the final read"
    return summary(
        len(history.sends.type), acked, read, by_final_read if final else "no final read"
    )


def _readers(final: Sequence[str], history: ParsedHistory) -> list[str]:
    """The readers that `--final` names: those of a file, or one by its name."""
    chosen: list[str] = []
    for which in final:
        processes = history.files.get(str(Path(which))) or {which}
        readers = sorted(process for process in processes if process in history.reads)
        if not readers:
            others = ", ".join(history.reads) or "none"
            raise HistoryError(f"--final {which}: it read nothing; those that did: {others}")
        chosen += readers
    return chosen
