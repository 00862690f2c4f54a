"""report.json: everything that a check found of one run, for programs (docs/report.md).

A pure function: what was loaded and what Spark found in, one model out (harness.model.runs.report).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.anomalies import BY_NAME
from analysis.anomalies import unjudged as not_recorded
from analysis.causes.run_facts.kafka import kraft_of
from analysis.causes.run_facts.untold import unmeasured_windows
from analysis.measures.consumer_lag import worst
from analysis.measures.leadership import leadership
from analysis.measures.stable_lag import stable_lag
from analysis.measures.work_done import Work
from analysis.report import outages
from analysis.report.causes import cause_rows
from analysis.report.clock import load_began_utc
from analysis.report.found import COUNTED, AnomalyFinding, Found
from analysis.report.headline import sentence
from analysis.report.judged import Judged, by_cause, judged_of
from analysis.report.outcome import cap, outcome, verdict_words
from analysis.stored.groups.programs import outputs_of
from analysis.stored.stored_run import Run, final_ends
from analysis.stories.tell import RunStories
from analysis.verdict.complete_reading import is_told
from analysis.verdict.judge import (
    Counted,
    Gap,
    Judgement,
    Level,
)
from analysis.verdict.permission import Permission
from harness.model.runs import report_course, report_findings
from harness.model.runs.report import (
    SCHEMA,
    Configuration,
    CountDemand,
    FinalRead,
    GapDemand,
    LevelDemand,
    PartitionRead,
    Report,
    RunTold,
)
from harness.model.runs.report_course import LongestWindows, Rates
from harness.model.runs.report_findings import Counts, Example, Finding, Stories


def report(run: Run, found: Found, permission: Permission) -> Report:
    """The whole report.json of a run. Raises CheckError when the scenario demands nonsense."""
    judged = judged_of(run, found, permission)
    counts = judged.counts
    happened = outcome(
        judged.judgements, judged.unclear, counts["acked"], judged.tried, counts["expired_unread"]
    )
    demanded = bool(run.scenario.get("expect"))
    return Report(
        schema=SCHEMA,
        run_id=run.run_id,
        verdict=judged.verdict.name,
        exit_code=judged.verdict.exit_code,
        sentence=sentence(
            judged,
            acked=counts["acked"],
            faults=run.faults,
            plan=run.plan,
            threshold_ms=run.threshold_ms,
        ),
        reasons=list(judged.verdict.reasons),
        outcome=happened,
        verdict_words=verdict_words(judged.verdict, happened.data, demanded=demanded),
        cap=cap(judged.verdict, judged.judgements, judged.doubts, judged.available),
        run=_run(run),
        counts=_counts(run, counts),
        errors=list(judged.errors),
        rates=_rates(run, found.counts),
        latency_ms=judged.latency,
        consumer_lag=worst(found.lag),
        **_of_some(run, found, judged),
        anomalies={
            name: _anomaly(name, judgement, found.findings[name], found.stories)
            for name, judgement in judged.judgements.items()
        },
        stories=_stories(found.stories),
        history_format=run.history_format,
        not_recorded=list(not_recorded(permission.facts)),
        causes=cause_rows(permission, by_cause(found), run),
        windows=list(judged.windows),
        longest_window_s=LongestWindows.model_validate(
            {
                **outages.longest(judged.windows, outputs=judged.facts.outputs),
                **dict.fromkeys(unmeasured_windows(run.untold)),
            }
        ),
        **_measured(judged.gaps, judged.numbers, judged.levels),
        replication=judged.replication,
        leadership=leadership(run, found.acks),
        faults=[outages.fault(row, run) for row in run.faults],
        planned_faults=len(run.plan),
        final_read=_final_read(run, found.work),
        configuration=_configuration(run),
        versions=run.record.get("versions") or {},
        host=run.record.get("host") or {},
        threshold_ms=run.threshold_ms,
    )


def _of_some(run: Run, found: Found, judged: Judged) -> dict[str, Any]:
    """The fields that other runs lack."""
    fields: dict[str, Any] = {}
    if judged.rebalances is not None:
        fields["rebalances"] = judged.rebalances
    if run.scenario["workload"].get("when_full") == "wait":
        fields["held_back"] = outages.held_back(run)
    if run.tells_transactions and run.tailing:
        fields["stable_lag"] = stable_lag(run)
    if (cycles := found.cycles) is not None:
        fields["transactions"] = report_course.Cycles(
            committed=cycles.committed,
            in_write_circles=cycles.in_write_circles,
            in_circles=cycles.in_circles,
        )
    if programs := run.record.get("programs"):
        fields["programs"] = [_program(run, each) for each in programs]
    if (asked := outputs_of(run)) is not None:
        fields["outputs"] = report_course.OutputsTold(
            outputs=found.work.count(None, "final-output"),
            complete=asked["complete"],
            read=found.work.count(None, "output"),
            passed=asked["passed"],
            through_ms=dict(found.through_ms) or None,
        )
    if run.untold:
        fields["untold"] = sorted(run.untold)
    return fields


def _program(run: Run, each: Mapping[str, Any]) -> report_course.ProgramTold:
    return report_course.ProgramTold(
        process=each["process"],
        start_s=run.seconds(each["started_ns"]),
        end_s=run.seconds(each["ended_ns"]),
        exit=each["exit"],
        unordered=each["unordered"],
    )


def _measured(
    gaps: Mapping[str, Gap], numbers: Mapping[str, Counted], levels: Mapping[str, Level]
) -> dict[str, Any]:
    """The demands on what is no anomaly."""
    return {
        "gap_demands": {
            name: GapDemand(longest_s=gap.longest_s, demanded=gap.demand.text, demand_met=gap.met)
            for name, gap in gaps.items()
        },
        "count_demands": {
            name: CountDemand(seen=each.seen, demanded=each.demand.text, demand_met=each.met)
            for name, each in numbers.items()
        },
        "level_demands": {
            name: LevelDemand(
                seen=each.seen, unit=each.unit, demanded=each.demand.text, demand_met=each.met
            )
            for name, each in levels.items()
        },
    }


def _run(run: Run) -> RunTold:
    record = run.record
    phases = record.get("phases") or []
    duration_s = (phases[-1]["end_ns"] - phases[0]["start_ns"]) / 1e9 if phases else None
    return RunTold(
        scenario=run.scenario["name"],
        title=run.scenario["title"],
        seed=record.get("seed"),
        backend=record.get("backend"),
        state=record.get("state"),
        started_utc=record.get("started_utc"),
        load_began_utc=load_began_utc(record, run.load_start_ns),
        duration_s=duration_s,
        command=record.get("command"),
        failure=record.get("failure"),
    )


def _counts(run: Run, counts: Mapping[str, int]) -> Counts:
    return Counts(
        **{name: int(counts[name]) for name in COUNTED},
        torn_records=sum(f["count"] or 0 for f in run.findings if f["kind"] == "torn"),
        worker_errors=run.worker_errors,
    )


def _rates(run: Run, counts: Mapping[str, int]) -> Rates:
    load_s = (run.load_end_ns - run.load_start_ns) / 1e9
    return Rates(
        sends_per_s=counts["sends"] / load_s if load_s else None,
        acks_per_s=counts["acked"] / load_s if load_s else None,
        load_s=load_s,
        **outages.planned_s(run),
    )


def _stories(stories: RunStories) -> Stories:
    return Stories.model_validate(
        {
            "told": list(stories.stories),
            "more": stories.more,
            "more_records": stories.more_records,
            "missing": list(stories.missing),
        }
    )


def _anomaly(name: str, judgement: Judgement, finding: AnomalyFinding, told: RunStories) -> Finding:
    stories, wrote = told.of_example.get(name), told.wrote.get(name)
    lasted: dict[str, Any] = {"lasted_s": finding.lasted_s} if BY_NAME[name].lasts else {}
    return Finding(
        count=finding.count,
        split=dict(finding.split),
        **lasted,
        judged=report_findings.Judged(
            permitted=judgement.tally.permitted,
            forbidden=judgement.tally.forbidden,
            in_doubt=judgement.tally.in_doubt,
        ),
        forbidden=judgement.promise.forbids,
        promise=judgement.promise.why,
        source=judgement.promise.source,
        demanded=judgement.demand.text if judgement.demand else None,
        demand_met=judgement.demand_met,
        convicts=judgement.convicts,
        examples=[
            Example.model_validate(
                {
                    **row,
                    **({"story": stories[number]} if stories else {}),
                    **(wrote[number] if wrote else {}),
                }
            )
            for number, row in enumerate(finding.examples)
        ],
    )


def _final_read(run: Run, work: Work) -> FinalRead:
    ends = final_ends(run)
    told = [end["complete"] for end in ends if is_told(run, end["partition"], work)]
    return FinalRead(
        complete=bool(run.ends) and all(told),
        partitions=[PartitionRead(**end) for end in ends],
    )


def _configuration(run: Run) -> Configuration:
    scenario, topic = run.scenario, run.scenario["topic"]
    settings = {
        "producer": scenario["workload"]["producer"],
        "consumer": scenario["workload"]["consumer"],
        "topic": {name: None if name in run.untold else topic[name] for name in topic},
        **{name: run.node_settings[name] for name in ("server", "zoo")} | kraft_of(run.record),
        "differences": run.record.get("differences") or [],
        **{
            key: run.record[key]
            for key in ("layers", "shown_demands", "notes")
            if run.record.get(key)
        },
    }
    return Configuration.model_validate(settings)
