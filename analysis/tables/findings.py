"""What the checkers find in two tables, and how it is judged: the rules of analysis.anomalies, in
one Spark session, without a run's folder.

`Known` is what does not depend on the tables: the facts of the configuration, and what may permit
what. It is made where the whole project is (harness.commands.write_job), and told as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.anomalies import BY_NAME, promised, untold_reasons
from analysis.checks.loss import is_below_start
from analysis.checks.rules import Rules
from analysis.checks.unavailability import windows
from analysis.frames.history_frames import History, runs_frame
from analysis.frames.permission import FORBIDDEN, IN_DOUBT
from analysis.run_facts.configuration import Facts
from analysis.run_facts.untold import least_safe
from analysis.tables.numbered import Keep, Numbered
from harness.model.untold import BEGINS

RUN_ID: Final = "tables"
SHOWN: Final = (
    *("anomaly", "outcome", "judged", "value", "partition", "offset", "sent", "copies"),
    *("other_partition", "other_offset", "other_value", "sent_ns", "acked_ns", "delivered_ns"),
)
_TEXTS: Final = ("value", "other_value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known beside two tables."""

    facts: Facts
    run: Mapping[str, Any]  # fields of schema.RUNS that the configuration decides
    causes: Sequence[Mapping[str, Any]]  # rows of schema.CAUSE
    doubts: Sequence[str | None]  # why each of them is not sure

    def told(self) -> str:
        """As JSON."""
        told = asdict(self)
        told["facts"]["untold"] = sorted(self.facts.untold)
        return json.dumps(told)


def known_of(told: str) -> Known:
    """What was told as JSON."""
    known = json.loads(told)
    facts = Facts(**{**known["facts"], "untold": frozenset(known["facts"]["untold"])})
    return Known(**{**known, "facts": facts})


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found, and of what nobody can tell whether it is there."""

    # Anomaly -> how its rows are judged -> how many: all that are judged, found or not.
    counts: Mapping[str, Mapping[str, int]]
    reasons: Sequence[str]  # what cannot be judged, and why
    evidence: DataFrame  # schema.EVIDENCE
    windows: DataFrame | None  # analysis.checks.unavailability; None: nobody told of begins
    texts: DataFrame  # value, text
    below: int  # acked, and below where the log is taken to begin: nobody can tell
    doubt: str | None  # what is not known of what may permit what was found

    @property
    def verdict(self) -> str:
        """Tables never tell all, so nothing found is unknown."""
        found = sum(each.get(FORBIDDEN, 0) for each in self.counts.values())
        return "invalid" if found else "unknown"


def findings(
    numbered: Numbered,
    known: Known,
    run: Mapping[str, Any],
    *,
    untold: Sequence[str],
    keep: Keep,
) -> Findings:
    """What the checkers find. `run`: the other fields of schema.RUNS; `untold`: what these tables
    do not tell."""
    facts = replace(known.facts, untold=known.facts.untold | {*untold})
    judged = promised(least_safe(facts))
    spark = numbered.operations.sparkSession
    row = {"run_id": RUN_ID, **known.run, **run, "causes": list(known.causes)}
    operations = keep(numbered.operations.withColumn("run_id", F.lit(RUN_ID)))
    history = History(operations=operations, runs=runs_frame(spark, [row]))
    rules = Rules(history, [BY_NAME[name] for name in judged])
    some = rules.evidence()
    assert some is not None  # the rules of values look at every history
    found = keep(some)
    counted = found.groupBy("anomaly", "judged", "cause").count().collect()
    counts: dict[str, dict[str, int]] = {name: {} for name in judged}
    for each in counted:
        of_it = counts[each["anomaly"]]
        of_it[each["judged"]] = of_it.get(each["judged"], 0) + each["count"]
    doubtful = sorted(each["cause"] for each in counted if each["judged"] == IN_DOUBT)
    return Findings(
        counts=counts,
        reasons=untold_reasons(facts),
        evidence=found,
        windows=None if BEGINS in facts.untold else keep(windows(history, rules.fates)),
        texts=numbered.values,
        below=rules.fates.where(is_below_start()).count(),
        doubt=known.doubts[doubtful[0]] if doubtful else None,
    )


def shown(found: Findings, most: int) -> DataFrame:
    """The rows found, with their values' texts; `most` of them, or all where it is 0."""
    rows = found.evidence.select(*SHOWN).orderBy("anomaly", "partition", "offset", "value")
    rows = rows.limit(most) if most else rows
    for name in _TEXTS:
        of_it = found.texts.select(F.col("value").alias(name), F.col("text").alias(f"{name}_text"))
        rows = rows.join(of_it, on=name, how="left").withColumn(name, F.col(f"{name}_text"))
    return rows.select(*SHOWN).orderBy("anomaly", "partition", "offset", "value")
