"""Everything that is decided about a run: its anomalies, demands, doubts and verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from analysis.anomalies import BY_NAME, NAMES, untold_reasons
from analysis.causes.run_facts.configuration import Facts
from analysis.causes.run_facts.placement import misplaced_count
from analysis.causes.run_facts.untold import unmeasured_windows
from analysis.measures.cap import Availability, availability
from analysis.measures.latency_and_rates import QUANTILES
from analysis.measures.rebalances import rebalances
from analysis.measures.replication import replication
from analysis.measures.windows import WindowRow
from analysis.report import outages
from analysis.report.causes import kinds_at_work
from analysis.report.found import AnomalyFinding, Found
from analysis.report.outcome import tried_words
from analysis.stored.groups.programs import unordered_ends
from analysis.stored.run_files import CheckError
from analysis.stored.stored_run import Run, final_ends
from analysis.verdict.demands import Demand, DemandError, parse
from analysis.verdict.doubts import doubts
from analysis.verdict.judge import (
    Counted,
    Gap,
    Judgement,
    Level,
    Tally,
    Unsure,
    Verdict,
    decide,
    judge,
    judge_counts,
    judge_gaps,
    judge_isr_times,
    judge_levels,
)
from analysis.verdict.permission import Permission
from analysis.verdict.suspended import past_the_end, short_tables, suspended, unproved
from analysis.verdict.untested import untested
from harness.model.client_settings import timeout_ms_of
from harness.model.runs.report import Latencies, Quantiles
from harness.model.runs.report_course import Rebalances, Replication, Window
from harness.model.runs.report_findings import SendError
from harness.model.sections.expect import Looks, unjudged
from harness.model.untold import BEGINS, COPIES, READ_TIMES


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Everything that was decided about a run."""

    facts: Facts
    verdict: Verdict
    judgements: Mapping[str, Judgement]
    doubts: Sequence[str]
    doubts_of_loss: Sequence[str] | None = None  # None: the same
    windows: Sequence[Window] = ()
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    numbers: Mapping[str, Counted] = field(default_factory=dict)
    levels: Mapping[str, Level] = field(default_factory=dict)
    replication: Replication | None = None
    rebalances: Rebalances | None = None  # None: there is no consumer group
    latency: Latencies = Latencies(ack=None, delivery=None)  # noqa: RUF009  frozen
    counts: Mapping[str, int] = field(default_factory=dict)  # of the report, and PAST
    errors: Sequence[SendError] = ()
    tried: str = ""  # what was tried, in words; empty where no send is known to be undelivered
    available: Availability = Availability(value=None)  # noqa: RUF009  frozen
    defaults_of: str = ""  # the client whose defaults an imported history has
    without_digests: bool = False  # its tables could not be held against what was sealed

    @property
    def unclear(self) -> Sequence[str]:
        """The doubts for which it is not known whether data was lost."""
        return self.doubts if self.doubts_of_loss is None else self.doubts_of_loss

    @property
    def deleted(self) -> int:
        """Acknowledged records below the log's start."""
        return self.counts.get("acked_below_log_start", 0)


def judged_of(run: Run, found: Found, permission: Permission) -> Judged:
    """Everything that was decided about a run. Raises CheckError as `report` does."""
    demands = _demands(run, found)
    facts = permission.facts
    # Without acks nobody knows which sends arrived.
    counts = {**found.counts, **({"undelivered": 0} if facts.acks == "0" else {})}
    tallies = {name: _tally(found.findings[name], permission) for name in NAMES}
    unsure = _unsure(run, found, counts, tallies)
    kinds = kinds_at_work(permission, by_cause(found))
    judgements = judge(tallies, permission.promised, demands, unsure, kinds)
    damage = (*run.suspect, *short_tables(run, found.work))
    complete = all(end["complete"] for end in final_ends(run))
    judgements = suspended(judgements, damage, complete=complete)
    judgements = past_the_end(judgements, run, found.findings["phantom"].split["never_sent"])
    elsewhere = misplaced_count(run.record) if "misplaced-replicas" in demands else None
    _refuse_unjudged(run, demands, judgements, facts, placed=elsewhere is not None)
    rows = _known_windows(found, facts)
    windows = outages.windows(rows, run)
    followed = replication(run, found.counts, tallies["lost"].count)
    untimed = tuple(unmeasured_windows(facts.untold).values())
    gaps = judge_gaps(
        outages.longest(windows, outputs=facts.outputs),
        demands,
        replace(unsure, doubts=(*unsure.doubts, *untimed)),
    )
    gaps |= judge_isr_times(followed.isr if followed else [], demands, unsure.doubts)
    gaps = unproved(gaps, damage)
    regrouped = rebalances(run) if run.grouped else None
    counted = {
        **counts,
        **({"lost_within_log_end": followed.lost_within_log_end} if followed else {}),
        "expelled": regrouped.expelled.count if regrouped else 0,
        "misplaced": elsewhere,
        "unordered_ends": unordered_ends(run),
    }
    numbers = unproved(judge_counts(counted, demands, unsure), damage)
    latency, errors = latencies(found, facts), _errors(run, found)
    levels = unproved(judge_levels(found.counts, _p99_ms(found, latency), demands, unsure), damage)
    unknown = replace(unsure, doubts=(*unsure.doubts, *untold_reasons(facts)))
    return Judged(
        facts=facts,
        verdict=decide(judgements, unknown, {**gaps, **numbers, **levels}),
        judgements=judgements,
        doubts=unsure.doubts,
        doubts_of_loss=_doubts_of_loss(run, found, unsure.doubts),
        windows=windows,
        gaps=gaps,
        numbers=numbers,
        levels=levels,
        replication=followed,
        rebalances=regrouped,
        latency=latency,
        counts=counts,
        errors=errors,
        tried=tried_words(counts, errors, timeout_ms_of(run.scenario["workload"]["producer"])),
        available=availability(run, rows, facts.acks),
        defaults_of=run.defaults_of,
        without_digests=run.without_digests,
    )


def _unsure(
    run: Run, found: Found, counts: Mapping[str, int], tallies: Mapping[str, Tally]
) -> Unsure:
    """What is not known of the run, and what was not put to the test."""
    left = {**counts, "not_passed": tallies["not-passed"].count}
    open_ = untested(run, left, found.after_faults, found.work, found.acked_unseen)
    if found.through_ms and found.through_ms["p99"] is None:
        open_["through-p99-ms"] = (
            "inputs decide it of which no output was read before the drain ended"
        )
    return Unsure(
        doubts=doubts(run, found.counts, tallies["unseen"].count, found.work), untested=open_
    )


def _p99_ms(found: Found, latency: Latencies) -> dict[str, float | None]:
    """What demands ask for, by their name."""
    return {
        "ack-p99-ms": latency.ack.p99 if latency.ack else None,
        "delivery-p99-ms": latency.delivery.p99 if latency.delivery else None,
        "through-p99-ms": found.through_ms.get("p99"),
    }


def _doubts_of_loss(run: Run, found: Found, doubts: Sequence[str]) -> Sequence[str]:
    """The doubts for which it is not known whether data was lost: none where an imported history's
    final read has each acknowledged record."""
    moved = found.findings["inconsistent-offset"].split
    if COPIES in run.untold and moved.get("acked_elsewhere"):
        return (*doubts, "copies of acknowledged records may be an earlier run's")
    missing = sum(found.findings[name].count for name in ("lost", "unseen"))
    missing += found.counts["acked_below_log_start"] + moved.get("passed_over", 0)
    whole = not (run.damage or run.findings)
    all_found = run.untold and found.counts["acked"] and whole and not missing
    return () if all_found else doubts


def _known_windows(found: Found, facts: Facts) -> list[WindowRow]:
    """Those that the history can show: without acks it is not known whether writes stopped."""
    if BEGINS in facts.untold:
        return []
    return [row for row in found.windows if facts.acks != "0" or row["kind"] != "produce"]


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
        programs=bool(run.programs or run.scenario.get("programs")),
        outputs=facts.outputs,
    )
    for name, why in unjudged(demands, facts.acks, looks):
        raise CheckError(f"{where}.{name}: {why}; remove this demand")


def by_cause(found: Found) -> dict[str, Mapping[int, int]]:
    """By anomaly, how many records each cause permits or puts in doubt."""
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


def latencies(found: Found, facts: Facts) -> Latencies:
    """Those of the report; none of what an imported history does not tell."""
    if BEGINS in facts.untold:
        return Latencies(ack=None, delivery=None)
    delivery = None if READ_TIMES in facts.untold else found.delivery_ms
    return Latencies(ack=_quantiles(found.ack_ms), delivery=_quantiles(delivery))


def _quantiles(values: Sequence[float] | None) -> Quantiles | None:
    """Named, in ms to two places: the quantiles' own precision."""
    if values is None:
        return None
    named = zip(QUANTILES, values, strict=True)
    return Quantiles(**{name: round(value, 2) for name, value in named})


def _errors(run: Run, found: Found) -> list[SendError]:
    return [
        SendError(
            error=row["error"],
            sends=row["sends"],
            share=round(row["sends"] / found.counts["sends"], 4),
            first_s=run.seconds(row["first_ns"]),
        )
        for row in found.errors
    ]
