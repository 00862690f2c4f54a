"""junit.xml: a run as CI systems show it: a case a promise, a case a demand, and the verdict.

    <testsuite name="study-4">
      <testcase classname="kafka-harness.study-4.seed-42" name="verdict"><failure …>
      <testcase classname="kafka-harness.study-4.seed-42" name="promise: no lost"><failure …>
      <testcase classname="kafka-harness.study-4.seed-42" name="demand: duplicate 0"/>

GitLab, Jenkins and GitHub's report actions agree on three marks, and this is how they are used:

- a broken promise, an unmet demand and the verdict *invalid* are a `failure`: red, with the
  evidence in the text.
- the verdict *unknown* is an `error`: red as well, and told apart from a failure. It is no
  `skipped`: all three show skipped cases as no reason to worry, and unknown is never green.
- a promise or demand about which such a run proves nothing is `skipped`: one red case says
  that the run proves nothing, and none claims that Kafka kept or broke anything.

What is allowed and was not demanded is no case. Names say what is promised, not what was seen, so
that a CI system can follow a case through its history. The class holds the seed, because GitLab
drops cases of one job that have the same name: repeats of a scenario would hide each other.
These marks do not fail a job: that is the exit code's task.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal
from xml.etree import ElementTree

from analysis.report import wording
from analysis.verdict.demands import level_words
from harness.model.runs.report import CountDemand, GapDemand, LevelDemand, Report
from harness.model.runs.report_findings import Finding

Demanded = Finding | GapDemand | CountDemand | LevelDemand
End = Literal["failure", "error", "skipped"] | None

FAILURE: Final = "failure"
ERROR: Final = "error"
SKIPPED: Final = "skipped"
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test case: its name, how it ended (None is passed), a line, and the evidence."""

    name: str
    end: End
    message: str
    text: str = ""


def render(report: Report) -> str:
    """junit.xml of one run as text."""
    cases = [_verdict(report), *_promises(report), *_demands(report)]
    run = report.run
    time_s = f"{run.duration_s or 0:.3f}"
    totals = {"tests": str(len(cases)), "time": time_s} | {
        plural: str(sum(case.end == end for case in cases))
        for end, plural in ((FAILURE, "failures"), (ERROR, "errors"), (SKIPPED, "skipped"))
    }
    root = ElementTree.Element("testsuites", {"name": "kafka-harness"} | totals)
    started = (run.started_utc or "")[:19]  # the format has no fractions and no zone
    attributes = {"name": run.scenario, "timestamp": started} | totals
    suite = ElementTree.SubElement(root, "testsuite", attributes)
    _properties(suite, report)
    for case in cases:
        _append(
            suite,
            case,
            f"{run.scenario}.seed-{run.seed}",
            time_s if case.name == "verdict" else "0.000",
        )
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _verdict(report: Report) -> Case:
    ends: dict[str, End] = {"invalid": FAILURE, "unknown": ERROR}
    failure = report.run.failure
    broke = [f"the harness failed in phase {failure.phase}: {failure.error}"] if failure else []
    outcome = [f"outcome: {report.outcome.words}"] if report.outcome else []
    lines = [*outcome, *report.reasons, *broke, f"run it again: {report.run.command}"]
    return Case(
        name="verdict",
        end=ends.get(report.verdict),
        message=f"{report.verdict}: {report.sentence}",
        text="\n".join(lines),
    )


def _promises(report: Report) -> Iterator[Case]:
    """What this configuration forbids: broken, kept, or not tested."""
    for name, finding in report.anomalies.items():
        if finding.forbidden:
            yield Case(
                name=f"promise: no {name}",
                end=_promise_end(report, finding),
                message=_of_promise(report, name, finding),
                text=_evidence(name, finding),
            )


def _of_promise(report: Report, name: str, finding: Finding) -> str:
    """What was seen, and what was promised."""
    if not finding.count:
        return _unproved(report)
    seen = f"{finding.count:,} {name} seen"
    promise = f"Promised: {finding.promise} ({finding.source})"
    unless = "" if finding.convicts else "; whether it breaks this promise is unknown"
    return f"{seen}{unless}. {promise}"


def _demands(report: Report) -> Iterator[Case]:
    """What this scenario demands to see, or not to see."""
    for name, finding in report.anomalies.items():
        if finding.demanded is not None:
            seen = f"{finding.count:,} seen"
            yield _demand(report, name, finding, seen, _evidence(name, finding))
    for name, gap in report.gap_demands.items():
        yield _demand(report, name, gap, f"the longest lasted {gap.longest_s or 0:.1f} s")
    for name, count in report.count_demands.items():
        yield _demand(report, name, count, f"{count.seen:,} seen")
    for name, level in report.level_demands.items():
        seen = level_words(level.seen, level.unit)
        yield _demand(report, name, level, f"{seen} seen")


def _demand(report: Report, name: str, demand: Demanded, seen: str, text: str = "") -> Case:
    unmet = demand.demand_met is False
    return Case(
        name=f"demand: {name} {demand.demanded}",
        end={True: None, False: FAILURE, None: SKIPPED}[demand.demand_met],
        message=f"{name} {demand.demanded} demanded, {seen}" if unmet else _unproved(report),
        text=text,
    )


def _promise_end(report: Report, finding: Finding) -> End:
    """A conviction stands in any run; a kept promise needs a run that could have broken it."""
    if finding.count:
        return FAILURE if finding.convicts else SKIPPED
    return None if wording.provable(report) else SKIPPED


def _unproved(report: Report) -> str:
    """Why nothing follows from what was not seen."""
    if report.verdict != "unknown":
        return "not tested: the final read is incomplete"
    return "not tested: " + ("; ".join(report.reasons) or "the run is unknown")


def _evidence(name: str, finding: Finding) -> str:
    """The first rows, a line each, and where all of them are."""
    rows = [example.written() for example in finding.examples]
    split = [f"{many:,} {kind.replace('_', ' ')}" for kind, many in finding.split.items()]
    shown = [name for name in wording.columns(rows) if name != "story"]  # its number only
    lines = [", ".join(f"{key}={wording.plain(row.get(key))}" for key in shown) for row in rows]
    rest = [f"{finding.count:,} in all: analysis/{name}.parquet"] if rows else []
    return "\n".join([*([", ".join(split)] if rows and split else []), *lines, *rest])


def _properties(suite: ElementTree.Element, report: Report) -> None:
    """What a reader needs to find or repeat the run."""
    run = report.run
    known = {
        "run_id": report.run_id,
        "seed": run.seed,
        "backend": run.backend,
        "outcome": report.outcome and report.outcome.words,
        "verdict": f"{report.verdict}: {report.verdict_words}",
        "cap": report.cap and report.cap.words,
        "configuration": wording.configuration_words(report.configuration, report.untold),
        "faults": wording.fault_counts(report.faults, report.planned_faults, report.untold),
        "command": run.command,
    }
    box = ElementTree.SubElement(suite, "properties")
    for name, value in known.items():
        pair = {"name": name, "value": _clean(wording.plain(value))}
        ElementTree.SubElement(box, "property", pair)


def _append(suite: ElementTree.Element, case: Case, run: str, time_s: str) -> None:
    attributes = {"classname": f"kafka-harness.{run}", "name": case.name, "time": time_s}
    element = ElementTree.SubElement(suite, "testcase", attributes)
    if case.end is not None:
        kinds = {FAILURE: "invalid", ERROR: "unknown"}
        marked = {"message": _clean(case.message)}
        marked |= {"type": kinds[case.end]} if case.end in kinds else {}
        # GitLab shows the text alone, Jenkins the message above it: so the text says both.
        ElementTree.SubElement(element, case.end, marked).text = _clean(
            f"{case.message}\n{case.text}"
        )
    elif case.text:
        ElementTree.SubElement(element, "system-out").text = _clean(case.text)


def _clean(text: str) -> str:
    """Text without the characters that XML cannot carry."""
    return ILLEGAL.sub("�", text)
