"""The anomalies, one line each: what is listed here is counted, judged and told.

A checker is one file of analysis/checks: its rules, its words and its promises are in the record
that stands here. The order is that of reports.
"""

from __future__ import annotations

from dataclasses import replace

from analysis.causes.run_facts.configuration import Facts
from analysis.causes.run_facts.untold import (
    least_safe,
    not_judged,
    safest,
    unjudged_reasons,
    untold_settings,
)
from analysis.checks import (
    duplicates,
    integrity,
    loss,
    order,
    phantoms,
    polls,
    staleness,
)
from analysis.checks.anomaly import Anomaly
from analysis.checks.groups import commits, handling, outputs, owners, programs
from analysis.checks.promise import Promise
from analysis.checks.replicas import backwards, divergence, metadata, watermarks
from analysis.checks.transactions import atomicity, circular_flow

ANOMALIES: tuple[Anomaly, ...] = (
    loss.LOST,
    loss.VANISHED,
    loss.UNSEEN,
    duplicates.DUPLICATE,
    phantoms.PHANTOM,
    duplicates.INCONSISTENT_OFFSET,
    order.REORDERED,
    order.REAL_TIME_VIOLATION,
    atomicity.UNCOMMITTED_READ,
    atomicity.TORN,
    atomicity.HANGING_TRANSACTION,
    circular_flow.CIRCULAR_FLOW,
    backwards.STABLE_BACK,
    polls.POLL_SKIP,
    polls.POLL_BACK,
    polls.HOLE,
    integrity.CORRUPT,
    integrity.EPOCH_BACK,
    staleness.STALE_READ,
    handling.SKIPPED,
    handling.REPROCESSED,
    outputs.NO_OUTPUT,
    outputs.TWO_OUTPUTS,
    programs.STRANGE_OUTPUT,
    programs.NOT_PASSED,
    commits.COMMIT_BACK,
    commits.ZOMBIE_COMMIT,
    owners.TWO_OWNERS,
    owners.UNOWNED_PARTITION,
    loss.UNACKNOWLEDGED_LOST,
    divergence.DIVERGED,
    watermarks.WATERMARK_AHEAD,
    watermarks.EARLY_READ,
    backwards.END_BACK,
    backwards.WATERMARK_BACK,
    metadata.METADATA_BACK,
)
BY_NAME = {anomaly.name: anomaly for anomaly in ANOMALIES}
NAMES = tuple(BY_NAME)


def unjudged(facts: Facts) -> tuple[str, ...]:
    """The anomalies that the run could have, and that a history of its format, or one that does not
    tell so much, cannot show."""
    whole = replace(facts, history_format=2)
    could = [
        each
        for each in ANOMALIES
        if each.judged.holds(safest(whole)) or each.judged.holds(least_safe(whole))
    ]
    return tuple(each.name for each in could if not _is_judged(each, least_safe(facts)))


def untold_reasons(facts: Facts) -> list[str]:
    """One sentence per untold fact that says what the history cannot show."""
    whole = replace(facts, untold=frozenset(untold_settings(facts.untold)))
    known, could = promised(whole), unjudged(facts)
    words = unjudged_reasons(sorted(facts.untold), [*known, *could])
    for setting in untold_settings(sorted(facts.untold)):
        alone = frozenset({setting})
        for name in unjudged(replace(facts, untold=alone)):
            if name not in not_judged(facts.untold):
                words.append(f"the history does not tell {setting}: {name} is unknown")
    return words


def promised(facts: Facts) -> dict[str, tuple[Promise, ...]]:
    """What such a run promises of each anomaly that it can have: the rows that permit some records,
    then the one that speaks of all others."""
    return {each.name: each.promises_for(facts) for each in ANOMALIES if _is_judged(each, facts)}


def _is_judged(anomaly: Anomaly, facts: Facts) -> bool:
    return anomaly.judged.holds(facts) and anomaly.name not in not_judged(facts.untold)
