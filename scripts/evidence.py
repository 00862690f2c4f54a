"""Whole runs in git, docs/evidence/<cell>: judged again they must be what the ledgers say of them.

    python -m scripts.evidence                                   judges all of them (make evidence)
    python -m scripts.evidence keep RESULTS CELL …               adds or replaces some, of the study
    python -m scripts.evidence keep RESULTS CELL/RUN …           the same of single runs

Kept is a cell's first run: of those that count, and whose line has the digest of their history, the
one of the least seed. So nobody chose it by what it says. Beside them are the runs that the study's
pages tell one by one (analysis.studies.study: led_alone, unanswered), named by their ids with a "-"
for the "/". A folder has what judging needs (run.json and the sealed history) and report.json; two
have their pages for README. All pages are made in results/evidence. A later release may say more in
report.json, in words of its own where REWORDED has them, and what was tried before all else where
the kept report did not count undelivered sends; and nothing else.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from analysis.job import job
from harness.checkout import DOCS, ROOT
from harness.commands.campaigns.lines import origin, summary
from harness.history.seal_record import SEALED
from harness.model.campaigns.ledger import read
from harness.model.campaigns.ledger_line import Line
from harness.model.exit_codes import FAILED
from harness.model.runs.report import Report
from harness.model.runs.run_folder import RunFolder

KEPT = DOCS / "evidence"
PAGES = ROOT / "results" / "evidence"
LEDGERS = DOCS / "data"
STUDY = LEDGERS / "study.jsonl"
# Of a line, what is of the run and not of what it came to.
OF_THE_RUN = ("run", "configuration", "history", "versions")
# What reports say in other words since they were kept: the old words and the new ones.
REWORDED = {
    "A leader that is deposed after": "A leader that is replaced after",
    "to a leader that was deposed before": "to a leader that was replaced before",
}
PAGE = "report.html"
WITH_PAGES = ("partition-cp", "partition-ap")  # each 2 MB, most of it plotly.js
say = Console(highlight=False, soft_wrap=True, markup=False).print


def kept() -> list[Path]:
    """The folders, by name."""
    return sorted(folder for folder in KEPT.glob("*") if folder.is_dir())


# Judging


def differences(folders: Sequence[Path], pages: Path, **session: Any) -> dict[str, list[str]]:
    """By folder's name, what judging again makes otherwise; nothing where all is as it was told.

    The pages are made in `pages`, in a folder each. `session` is analysis.job.job's.
    """
    copies = [_copied(folder, pages / folder.name) for folder in folders]
    made = job.check(copies, **session)
    lines = {
        str(line["run"]): line for file in _ledgers() for line in read(file).ended if "run" in line
    }
    return {
        folder.name: told
        for folder, copy, report in zip(folders, copies, made, strict=True)
        if (told := list(_different(folder, copy, report, lines)))
    }


def _copied(folder: Path, copy: Path) -> Path:
    shutil.rmtree(copy, ignore_errors=True)
    return Path(shutil.copytree(folder, copy))


def _ledgers() -> list[Path]:
    return [file for file in sorted(LEDGERS.glob("*.jsonl")) if file.name != "faults.jsonl"]


def _different(
    folder: Path, copy: Path, report: Report, lines: Mapping[str, Line]
) -> Iterator[str]:
    line = lines.get(report.run_id)
    if line is None:
        yield f"no ledger has a line of run {report.run_id}"
        return
    # A run that failed ended so, whatever its history comes to.
    code = FAILED if line["exit"] == FAILED else report.code
    its: Mapping[str, Any] = origin(RunFolder(path=copy))
    again = {key: its[key] for key in OF_THE_RUN} | {**summary(None, code, report)}
    recorded: Mapping[str, Any] = _without_cap_words(line)
    for key, value in json.loads(json.dumps(again)).items():
        if key in recorded and not _says(value, recorded[key]):
            yield f"{key} is {value}, in the ledger {recorded[key]}"
    told = json.loads((folder / "report.json").read_text())
    if not _says(json.loads(report.text()), _with_what_was_tried(_without_cap_words(told), report)):
        yield "report.json says something else"


def _without_cap_words(told: Mapping[str, Any]) -> dict[str, Any]:
    """Without the words of CAP, which told the letters once and tell the gap since."""
    letters = {key: value for key, value in (told.get("cap") or {}).items() if key != "words"}
    return {**told, **({"cap": letters} if letters else {})}


def _with_what_was_tried(told: dict[str, Any], report: Report) -> dict[str, Any]:
    """A kept report as it would begin if it had counted undelivered sends."""
    if "undelivered" in told["counts"] or not report.counts.undelivered or report.outcome is None:
        return told
    tried = "; ".join(report.outcome.words.split("; ")[:2])
    sentence = told["sentence"].replace("No data was lost", "No acknowledged data was lost")
    happened = told["outcome"]["words"].replace(
        "no acknowledged record lost", "none of the acknowledged is lost"
    )
    again = {
        **told,
        "sentence": f"{tried}. {sentence}",
        "outcome": {**told["outcome"], "words": f"{tried}; {happened}"},
    }
    if told["outcome"]["data"] == "kept":
        again["outcome"]["data"] = "undelivered"
        again["verdict_words"] = report.verdict_words
    return again


def _says(made: Any, told: Any) -> bool:
    """Whether one says all that the other does; a later release may say more."""
    if isinstance(told, dict) and isinstance(made, dict):
        return all(key in made and _says(made[key], value) for key, value in told.items())
    if isinstance(told, list) and isinstance(made, list):
        return len(made) == len(told) and all(map(_says, made, told))
    if isinstance(told, str):
        for old, new in REWORDED.items():
            told = told.replace(old, new)
    return bool(made == told)


def judge() -> int:
    """Judge all again, and print a line for each; 1 where one differs."""
    wrong = differences(kept(), PAGES)
    for folder in kept():
        told = "; ".join(wrong.get(folder.name, ())) or "as the ledger has it"
        say(f"{folder.name}: {told}: {PAGES.relative_to(ROOT) / folder.name / PAGE}")
    say(f"{len(kept()) - len(wrong)} of {len(kept())} runs are judged as they were")
    return 1 if wrong else 0


# Keeping


def keep(ledger: Path, results: Path, cells: Sequence[str]) -> None:
    """Copy each cell's first run, or the run that is named. Raises SystemExit where it is not."""
    for cell in cells:
        run = cell if "/" in cell else first_run(ledger, cell)
        source, folder = results / run, KEPT / cell.replace("/", "-")
        if not (source / "history" / SEALED).is_file():
            raise SystemExit(f"{source} is no sealed run: give the folder of {ledger}'s results")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("run.json", *([PAGE] if cell in WITH_PAGES else [])):
            shutil.copy(source / name, folder / name)
        report = json.loads((source / "report.json").read_text())
        (folder / "report.json").write_text(json.dumps(report, separators=(",", ":")) + "\n")
        shutil.copytree(source / "history", folder / "history", ignore=_not_sealed)
        say(f"{cell}: {run}")


def first_run(ledger: Path, cell: str) -> str:
    """The id of a cell's first run, of those that count. Raises SystemExit where it has none."""
    told = [line for line in read(ledger).standing if line["cell"] == cell and line.get("history")]
    if not told:
        raise SystemExit(f"{ledger}: {cell} has no run whose line has its history's digest")
    return str(min(told, key=lambda line: int(line["seed"]))["run"])


def _not_sealed(_: str, names: list[str]) -> list[str]:
    """What a sealed history was made of, and does not need any more."""
    return [name for name in names if name.endswith((".jsonl", ".seg"))]


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            sys.exit(judge())
        case ["keep", results, *cells] if cells:
            keep(STUDY, Path(results), cells)
        case _:
            sys.exit(str(__doc__))
