"""report.json: everything that a check found of one run, for programs (docs/report.md).

A pure function: what was loaded and what Spark found in, one model out (harness.model.runs.report).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.anomalies import BY_NAME, NAMES, untold_reasons
from analysis.anomalies import unjudged as not_recorded
from analysis.causes.run_facts.configuration import Facts
from analysis.causes.run_facts.kafka import kraft_of
from analysis.causes.run_facts.placement import misplaced
from analysis.causes.run_facts.untold import unmeasured_windows
from analysis.checks.transactions.cycles import Cycles
from analysis.measures.cap import availability
from analysis.measures.consumer_lag import worst
from analysis.measures.latency_and_rates import QUANTILES
from analysis.measures.leadership import leadership
from analysis.measures.rebalances import rebalances
from analysis.measures.replication import replication
from analysis.measures.stable_lag import stable_lag
from analysis.measures.work_done import Work
from analysis.report import outages
from analysis.report.causes import causes_told, kinds_at_work
from analysis.report.clock import load_began_utc
from analysis.report.headline import Judged, sentence
from analysis.report.outcome import cap, outcome, verdict_words
from analysis.stored.run_files import CheckError
from analysis.stored.stored_run import Run, final_ends
from analysis.stories.tell import Told
from analysis.verdict.demands import Demand, DemandError, parse
from analysis.verdict.doubts import doubts
from analysis.verdict.judge import (
    Counted,
    Gap,
    Judgement,
    Level,
    Tally,
    decide,
    judge,
    judge_counts,
    judge_gaps,
    judge_isr_times,
    judge_levels,
)
from analysis.verdict.permission import Permission
from analysis.verdict.suspended import past_the_end, short_tables, suspended, unproved
from harness.model.runs.report import SCHEMA, Report
from harness.model.runs.report_findings import Counts
from harness.model.sections.expect import Looks, unjudged
from harness.model.untold import BEGINS, READ_TIMES

EXAMPLES = 10
WORKERS = ("torn_records", "worker_errors")  # counts that no operation has
COUNTED = tuple(name for name in Counts.model_fields if name not in WORKERS)
# Of the records past the log end of an elected leader (analysis.frames.elections).
PAST = ("lost_past_log_end", "kept_past_log_end")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyFinding:
    """What was found of one anomaly: how many, how they split, and the first few rows."""

    count: int = 0
    split: Mapping[str, int]
    examples: Sequence[Mapping[str, Any]] = ()
    lasted_s: Mapping[str, float] | None = None  # p50 and max of those that ended
    # How many a cause permits, or puts in doubt, by the cause's number.
    by_cause: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What Spark found in one run."""

    counts: Mapping[str, int]
    ack_ms: Sequence[float] | None
    delivery_ms: Sequence[float] | None
    findings: Mapping[str, AnomalyFinding]
    windows: Sequence[Mapping[str, Any]]
    acked_unseen: int = 0  # of how many acks nobody saw who was in the ISR; asked where demanded
    acks: Sequence[Mapping[str, Any]] = ()  # rows of `leadership.acks_between_cuts`
    work: Work = field(default_factory=Work)  # what each worker did
    lag: Sequence[Mapping[str, Any]] = ()  # rows of `consumer_lag.lag`
    stories: Told = field(default_factory=Told)
    cycles: Cycles | None = None  # None: nobody told of transactions


def report(run: Run, found: Found, permission: Permission) -> Report:
    """The whole report.json of a run. Raises CheckError when the scenario demands nonsense."""
    judged = _judged(run, found, permission)
    told = {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "verdict": judged.verdict.name,
        "exit_code": judged.verdict.exit_code,
        "sentence": sentence(
            judged,
            acked=found.counts["acked"],
            faults=run.faults,
            plan=run.plan,
            threshold_ms=run.threshold_ms,
        ),
        "reasons": list(judged.verdict.reasons),
        **_labels(run, judged, found.counts["acked"]),
        "run": _run(run),
        "counts": _counts(run, found),
        "rates": _rates(run, found.counts),
        "latency_ms": _latency_ms(found, permission.facts),
        "consumer_lag": worst(found.lag),
        **({"rebalances": rebalances(run)} if run.grouped else {}),
        **({"stable_lag": stable_lag(run)} if run.tells_transactions and run.tailing else {}),
        **({"transactions": _transactions(found.cycles)} if found.cycles else {}),
        "anomalies": {
            name: _anomaly(name, judgement, found.findings[name], found.stories)
            for name, judgement in judged.judgements.items()
        },
        "stories": _stories(found.stories),
        "history_format": run.history_format,
        **({"untold": sorted(run.untold)} if run.untold else {}),
        "not_recorded": list(not_recorded(permission.facts)),
        "causes": causes_told(permission, _by_cause(found), run),
        "windows": judged.windows,
        "longest_window_s": {
            **outages.longest(judged.windows),
            **dict.fromkeys(unmeasured_windows(run.untold)),
        },
        **_measured(judged.gaps, judged.numbers, judged.levels),
        "replication": judged.replication,
        "leadership": leadership(run, found.acks),
        "faults": [outages.fault(row, run) for row in run.faults],
        "planned_faults": len(run.plan),
        "final_read": _final_read(run),
        "configuration": _configuration(run),
        "versions": run.record.get("versions") or {},
        "host": run.record.get("host") or {},
        "threshold_ms": run.threshold_ms,
    }
    return Report.model_validate(told)


def _labels(run: Run, judged: Judged, acked: int) -> dict[str, Any]:
    """What everybody reads first."""
    told = outcome(judged.judgements, judged.doubts, acked)
    expect = bool(run.scenario.get("expect"))
    words = verdict_words(judged.verdict, told["data"], demanded=expect)
    letters = cap(judged.verdict, judged.judgements, judged.doubts, judged.available)
    return {"outcome": told, "verdict_words": words, "cap": letters}


def _judged(run: Run, found: Found, permission: Permission) -> Judged:
    """Everything that was decided about a run. Raises CheckError as `report` does."""
    demands = _demands(run, found)
    facts = permission.facts
    tallies = {name: _tally(found.findings[name], permission) for name in NAMES}
    unsure = doubts(run, found.counts, tallies["unseen"].count, found.work)
    kinds = kinds_at_work(permission, _by_cause(found))
    judgements = judge(tallies, permission.promised, demands, unsure, kinds)
    damage = (*run.suspect, *short_tables(run, found.work))
    complete = all(end["complete"] for end in final_ends(run))
    judgements = suspended(judgements, damage, complete=complete)
    judgements = past_the_end(judgements, run, found.findings["phantom"].split["never_sent"])
    elsewhere = misplaced(run.record) if "misplaced-replicas" in demands else None
    _refuse_unjudged(run, demands, judgements, facts, placed=elsewhere is not None)
    # Without acks it is not known whether writes stopped.
    rows = [row for row in found.windows if facts.acks != "0" or row["kind"] != "produce"]
    if BEGINS in facts.untold:
        rows = []
    windows = outages.windows(rows, run)
    followed = replication(run, found.counts, tallies["lost"].count)
    untimed = tuple(unmeasured_windows(facts.untold).values())
    gaps = judge_gaps(outages.longest(windows), demands, (*unsure, *untimed))
    gaps |= judge_isr_times(followed["isr"] if followed else [], demands, unsure)
    gaps = unproved(gaps, damage)
    expelled = rebalances(run)["expelled"]["count"] if run.grouped else 0
    counted = {**found.counts, **(followed or {}), "expelled": expelled, "misplaced": elsewhere}
    numbers = judge_counts(counted, demands, unsure, found.acked_unseen)
    numbers = unproved(numbers, damage)
    latency = _latency_ms(found, facts)
    levels = unproved(judge_levels(found.counts, latency, demands, unsure), damage)
    unknown = (*unsure, *untold_reasons(facts))
    return Judged(
        facts=facts,
        verdict=decide(judgements, unknown, {**gaps, **numbers, **levels}),
        judgements=judgements,
        doubts=unsure,
        windows=windows,
        gaps=gaps,
        numbers=numbers,
        levels=levels,
        replication=followed,
        deleted=found.counts["acked_below_log_start"],
        available=availability(run, rows, facts.acks),
        defaults_of=run.defaults_of,
        without_digests=run.without_digests,
    )


def _demands(run: Run, found: Found) -> dict[str, Demand]:
    try:
        return parse(run.scenario.get("expect") or {}, found.counts["acked"])
    except DemandError as error:
        raise CheckError(f"{run.path / 'run.json'}: scenario.{error}") from None


def _refuse_unjudged(
    run: Run,
    demands: Mapping[str, Demand],
    judged: Mapping[str, Judgement],
    facts: Facts,
    *,
    placed: bool,
) -> None:
    """Raises CheckError where the scenario demands what nobody can judge in such a run."""
    where = f"{run.path / 'run.json'}: scenario.expect"
    if others := sorted((demands.keys() & set(NAMES)) - judged.keys()):
        words = BY_NAME[others[0]].judged.words
        raise CheckError(f"{where}.{others[0]}: judged only {words}; remove this demand")
    looks = Looks(
        tailing=run.tailing,
        grouped=run.grouped,
        generations=facts.one_generation and facts.history_format >= 2,
        watched=run.watched,
        placed=placed,
    )
    for name, why in unjudged(demands, facts.acks, looks):
        raise CheckError(f"{where}.{name}: {why}; remove this demand")


def _measured(
    gaps: Mapping[str, Gap], numbers: Mapping[str, Counted], levels: Mapping[str, Level]
) -> dict[str, Any]:
    """The demands on what is no anomaly."""
    return {
        "gap_demands": {
            name: {"longest_s": gap.longest_s, "demanded": gap.demand.text, "demand_met": gap.met}
            for name, gap in gaps.items()
        },
        "count_demands": {
            name: {"seen": each.seen, "demanded": each.demand.text, "demand_met": each.met}
            for name, each in numbers.items()
        },
        "level_demands": {
            name: {
                "seen": each.seen,
                "unit": each.unit,
                "demanded": each.demand.text,
                "demand_met": each.met,
            }
            for name, each in levels.items()
        },
    }


def no_finding(name: str) -> AnomalyFinding:
    """Nothing found of an anomaly."""
    return AnomalyFinding(split=dict.fromkeys(BY_NAME[name].outcomes, 0))


def _by_cause(found: Found) -> dict[str, Mapping[int, int]]:
    return {name: finding.by_cause for name, finding in found.findings.items()}


def _tally(finding: AnomalyFinding, permission: Permission) -> Tally:
    """How many of an anomaly something permits, or may permit."""
    causes = permission.causes
    sure = {number for number in finding.by_cause if causes[number].sure}
    unsure = sorted(finding.by_cause.keys() - sure)
    return Tally(
        count=finding.count,
        permitted=sum(finding.by_cause[number] for number in sure),
        in_doubt=sum(finding.by_cause[number] for number in unsure),
        doubt=causes[unsure[0]].why if unsure else None,
    )


def _run(run: Run) -> dict[str, Any]:
    record = run.record
    phases = record.get("phases") or []
    duration_s = (phases[-1]["end_ns"] - phases[0]["start_ns"]) / 1e9 if phases else None
    return {
        "scenario": run.scenario["name"],
        "title": run.scenario["title"],
        **{key: record.get(key) for key in ("seed", "backend", "state", "started_utc")},
        "load_began_utc": load_began_utc(record, run.load_start_ns),
        "duration_s": duration_s,
        **{key: record.get(key) for key in ("command", "failure")},
    }


def _counts(run: Run, found: Found) -> dict[str, int]:
    return {
        **{name: int(found.counts[name]) for name in COUNTED},
        "torn_records": sum(int(f["count"] or 0) for f in run.findings if f["kind"] == "torn"),
        "worker_errors": run.worker_errors,
    }


def _rates(run: Run, counts: Mapping[str, int]) -> dict[str, float | None]:
    load_s = (run.load_end_ns - run.load_start_ns) / 1e9
    return {
        "sends_per_s": counts["sends"] / load_s if load_s else None,
        "acks_per_s": counts["acked"] / load_s if load_s else None,
        "load_s": load_s,
        **outages.planned_s(run),
    }


def _latency_ms(found: Found, facts: Facts) -> dict[str, dict[str, float] | None]:
    if BEGINS in facts.untold:
        return {"ack": None, "delivery": None}
    delivery = None if READ_TIMES in facts.untold else found.delivery_ms
    return {"ack": _quantiles(found.ack_ms), "delivery": _quantiles(delivery)}


def _quantiles(values: Sequence[float] | None) -> dict[str, float] | None:
    """Named, in ms to two places: the quantiles' own precision."""
    if values is None:
        return None
    return {name: round(value, 2) for name, value in zip(QUANTILES, values, strict=True)}


def _stories(told: Told) -> dict[str, Any]:
    return {
        "told": list(told.stories),
        "more": told.more,
        "more_records": told.more_records,
        "missing": list(told.missing),
    }


def _anomaly(
    name: str, judgement: Judgement, finding: AnomalyFinding, told: Told
) -> dict[str, Any]:
    stories, wrote = told.of_example.get(name), told.wrote.get(name)
    return {
        "count": finding.count,
        "split": dict(finding.split),
        **({"lasted_s": finding.lasted_s} if BY_NAME[name].lasts else {}),
        "judged": {
            "permitted": judgement.tally.permitted,
            "forbidden": judgement.tally.forbidden,
            "in_doubt": judgement.tally.in_doubt,
        },
        "forbidden": judgement.promise.forbids,
        "promise": judgement.promise.why,
        "source": judgement.promise.source,
        "demanded": judgement.demand.text if judgement.demand else None,
        "demand_met": judgement.demand_met,
        "convicts": judgement.convicts,
        "examples": [
            {
                **row,
                **({"story": stories[number]} if stories else {}),
                **(wrote[number] if wrote else {}),
            }
            for number, row in enumerate(finding.examples)
        ],
    }


def _transactions(cycles: Cycles) -> dict[str, int]:
    names = ("committed", "in_write_circles", "in_circles")
    return {name: getattr(cycles, name) for name in names}


def _final_read(run: Run) -> dict[str, Any]:
    partitions = [{k: v for k, v in end.items() if k != "run_id"} for end in final_ends(run)]
    return {"complete": all(end["complete"] for end in partitions), "partitions": partitions}


def _configuration(run: Run) -> dict[str, Any]:
    scenario, topic = run.scenario, run.scenario["topic"]
    return {
        "producer": scenario["workload"]["producer"],
        "consumer": scenario["workload"]["consumer"],
        "topic": {name: None if name in run.untold else topic[name] for name in topic},
        **{name: run.node_settings[name] for name in ("server", "zoo")} | kraft_of(run.record),
        "differences": run.record.get("differences") or [],
        **{n: told for n in ("layers", "shown_demands", "notes") if (told := run.record.get(n))},
    }
