"""Permission: which causes of a run permit which anomalies, put together for Spark and the report.

    facts: acks=1        =>  *lost* is permitted by another leader
    views: kafka2 leads  =>  a cause of that kind, in partition 0, at 3.4 s
    together             =>  cause 3 permits *lost*

Conditions are asked of the least safe configuration that may have been in force, faults of which it
is not known what they can do included: whether it was is for each cause to say.

What an imported history does not tell puts anomalies in doubt, and permits none:

    no faults    =>  whatever any fault could permit is in doubt
    no acks      =>  what acks=1 permits is in doubt, by the same causes

The outcome puts a row in doubt that no lost record explains, so each of these causes comes twice:
for all rows, and for all outcomes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from analysis.anomalies import promised
from analysis.causes.all_causes import causes_of
from analysis.causes.cause import Cause
from analysis.causes.kinds import ABORTED, EVERY, PROCESSING_FAILED, Kind
from analysis.causes.run_facts import untold
from analysis.causes.run_facts.configuration import Facts, facts_of, lag_max_ms
from analysis.causes.run_facts.faults import Happened
from analysis.causes.run_facts.kafka import Kafka, kafka_of
from analysis.causes.run_facts.quorum_strikes import quorum_strikes
from analysis.causes.seen import Seen
from analysis.causes.states import partitions_of
from analysis.checks.promise import Promise
from analysis.stored.fact_rows import CauseRow
from analysis.stored.member_stops import stops_of
from analysis.stored.settings import Settings
from analysis.stored.stored_run import Run, read_ended
from analysis.stored.transactions.settled import Settled
from harness.model.untold import FAULTS

_CONFIGURED: Final = (EVERY, ABORTED, PROCESSING_FAILED)
_OUTCOMES: Final = (
    *("two_values", "acked_elsewhere", "read_elsewhere", "passed_over", "in_reads"),
    "other_partition",
    *("aborted", "never", "never_sent", "never_polled", "failed", "unparsable"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """What permits what in a run."""

    facts: Facts  # as known
    promised: Mapping[str, tuple[Promise, ...]]  # by anomaly, see analysis.anomalies
    causes: tuple[Cause, ...]  # those that permit anything, by their numbers
    # The same of the safest configuration that there may have been: what certainly permits.
    certain: Mapping[str, tuple[Promise, ...]] | None = None  # None: all of it is known

    def permits(self, cause: Cause) -> tuple[str, ...]:
        """The anomalies that a cause permits, or puts in doubt."""
        sure = self.promised if self.certain is None or not cause.sure else self.certain
        return tuple(
            anomaly
            for anomaly in self.promised
            if any(row.by is cause.kind for row in sure.get(anomaly, ()))
        )

    @property
    def asks_what_is_settled(self) -> bool:
        """Whether any cause permits unsettled transactions only."""
        return any(cause.unsettled_ns is not None for cause in self.causes)

    def rows(self, start_ns: int = 0, settled: Settled | None = None) -> list[CauseRow]:
        """Rows of schema.CAUSE, of a run whose load started then; `settled`: what it tells of
        that."""
        told = settled or Settled()
        return [
            cause.as_row(
                number,
                self.permits(cause),
                start_ns,
                () if cause.unsettled_ns is None else told.before(cause.unsettled_ns),
            )
            for number, cause in enumerate(self.causes)
        ]


def permission_of(run: Run) -> Permission:
    """What permits what in a stored run."""
    kafka = kafka_of(run.record)
    happened = Happened.of(run.faults, run.plan, run.nodes, kafka.quorum)
    server = run.node_settings["server"]
    known = facts_in(run.scenario, server, happened, kafka)
    least_safe = facts_in(run.scenario, server, happened, kafka, unknown_did_all=True)
    recorded = partial(
        replace,
        history_format=run.history_format,
        untold=run.untold,
        reads_metadata=any(view.get("partition_epoch") is not None for view in run.views),
    )
    return permission(recorded(known), recorded(least_safe), _seen(run, happened, kafka, known))


def facts_in(
    scenario: Mapping[str, Any],
    server: Settings,
    happened: Happened,
    kafka: Kafka,
    *,
    unknown_did_all: bool = False,
) -> Facts:
    """The facts of a configuration and of what happened; of unknown effects nothing, or all."""
    facts = facts_of(scenario, server, happened.settings(unknown_did_all=unknown_did_all), kafka)
    asked = happened.asked_for_unclean(unknown_did_all=unknown_did_all)
    forgot = quorum_strikes(happened, kafka, with_unknown=unknown_did_all)
    return replace(facts, unclean=facts.unclean or asked, set_back=bool(forgot))


def permission(known: Facts, least_safe: Facts, seen: Seen) -> Permission:
    """The same of facts: `known`, and the least safe that faults may have left in force."""
    rows = promised(untold.least_safe(least_safe))
    wanted = {row.by for each in rows.values() for row in each}
    kinds = {kind for kind in wanted if kind is not None}
    found = [cause for cause in causes_of(seen) if cause.kind in wanted]
    certain = promised(untold.safest(least_safe)) if known.untold else None
    found += _unrecorded_causes(found, kinds, known.untold)
    return Permission(facts=known, promised=rows, causes=tuple(found), certain=certain)


def _seen(run: Run, happened: Happened, kafka: Kafka, facts: Facts) -> Seen:
    topic, server = run.scenario["topic"], run.node_settings["server"]
    brokers = {name for name, node in run.nodes.items() if node.get("role") == "broker"}
    brokers |= {
        name
        for view in run.views
        for name in (view["leader"], *(view["isr"] or ()), *(view.get("elr") or ()))
        if name
    }
    return Seen(
        facts=facts,
        happened=happened,
        kafka=kafka,
        partitions=partitions_of(
            run.views,
            run.blind,
            run.partitions,
            kafka.eligible_below(server, topic, happened.settings()),
        ),
        brokers=tuple(sorted(brokers)),
        topic=str(topic.get("name", "")),
        topic_config=topic["config"],
        server=server,
        first_ns=run.first_ns,
        read_ended_ns=read_ended(run),
        lag_max_ms=lag_max_ms(server),
        stops=stops_of(run) if facts.commit in ("auto", "before") else (),
    )


def _unrecorded_causes(
    recorded: Iterable[Cause], kinds: Collection[Kind], untold: Collection[str]
) -> Iterator[Cause]:
    """The causes beside the `recorded` ones, of the kinds that may permit something. None is sure,
    so they follow all that are."""
    if not untold:
        return
    settings = "the configuration is not told in full"
    for cause in [cause for cause in recorded if cause.sure]:
        yield replace(cause, sure=False, why=settings)
    if FAULTS not in untold:
        return
    why = "the history does not tell what happened to the cluster"
    for kind in sorted({*kinds} - {*_CONFIGURED}, key=lambda kind: kind.name):
        unseen = Cause(kind=kind, words="what happened is not told", sure=False, why=why)
        yield unseen
        yield replace(unseen, outcomes=_OUTCOMES)
