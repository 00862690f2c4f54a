"""What the checkers find in two tables, by the rules of analysis.anomalies, in one Spark session
and without a run's folder.

`Configuration` is all that does not depend on the tables. harness.commands.tables.write_job, which
has the whole project, makes it, and puts it into the job as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.anomalies import BY_NAME, promised, untold_reasons
from analysis.causes.run_facts.configuration import Facts
from analysis.causes.run_facts.untold import least_safe
from analysis.checks.loss import is_below_start
from analysis.checks.rules import Rules
from analysis.checks.unavailability import windows
from analysis.frames.history_frames import History, runs_frame
from analysis.frames.permission import FORBIDDEN, IN_DOUBT
from analysis.tables.earlier_runs import Keep
from analysis.tables.numbered import Numbered
from harness.model.untold import BEGINS

RUN_ID: Final = "tables"
_PRINTED: Final = (
    *("anomaly", "outcome", "judged", "value", "partition", "offset", "sent", "copies"),
    *("other_partition", "other_offset", "other_value", "sent_ns", "acked_ns", "delivered_ns"),
)
_TEXTS: Final = ("value", "other_value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The configuration of the cluster and its clients, and what it permits."""

    facts: Facts
    run: Mapping[str, Any]  # fields of schema.RUNS that the configuration decides
    causes: Sequence[Mapping[str, Any]]  # rows of schema.CAUSE
    doubts: Sequence[str | None]  # why each of them is not sure
    partitions: int = 1  # of the topic, as far as anybody says
    new_topic: bool = False  # it was empty before the first send

    def to_json(self) -> str:
        """The text from which `configuration_from_json` makes the same."""
        fields = asdict(self)
        fields["facts"]["untold"] = sorted(self.facts.untold)
        return json.dumps(fields)


def configuration_from_json(text: str) -> Configuration:
    """The configuration that `to_json` wrote."""
    fields = json.loads(text)
    facts = Facts(**{**fields["facts"], "untold": frozenset(fields["facts"]["untold"])})
    return Configuration(**{**fields, "facts": facts})


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The anomalies of two tables, and what cannot be judged."""

    # Anomaly -> judgement -> how many; an anomaly that is judged and not found has no judgements.
    counts: Mapping[str, Mapping[str, int]]
    reasons: Sequence[str]  # what cannot be judged, and why
    evidence: DataFrame  # schema.EVIDENCE
    windows: DataFrame | None  # analysis.checks.unavailability; None: the begins are not known
    texts: DataFrame  # value, text
    below_log_start: int  # acked, and below the first offset of the final read: unknown
    doubt: str | None  # why an anomaly is in doubt

    @property
    def verdict(self) -> str:
        """invalid or unknown: two tables never have all that a valid run needs."""
        forbidden = sum(judgements.get(FORBIDDEN, 0) for judgements in self.counts.values())
        return "invalid" if forbidden else "unknown"


def findings(
    numbered: Numbered,
    configuration: Configuration,
    run: Mapping[str, Any],
    *,
    untold: Sequence[str],
    keep: Keep,
) -> Findings:
    """Apply the rules. `run`: the other fields of schema.RUNS; `untold`: what the tables lack."""
    facts = replace(configuration.facts, untold=configuration.facts.untold | {*untold})
    judged = promised(least_safe(facts))
    spark = numbered.operations.sparkSession
    row = {"run_id": RUN_ID, **configuration.run, **run, "causes": list(configuration.causes)}
    operations = keep(numbered.operations.withColumn("run_id", F.lit(RUN_ID)))
    history = History(operations=operations, runs=runs_frame(spark, [row]))
    rules = Rules(history, [BY_NAME[name] for name in judged])
    rows = rules.evidence()
    assert rows is not None  # the rules of values look at every history
    evidence = keep(rows)
    counted = evidence.groupBy("anomaly", "judged", "cause").count().collect()
    counts: dict[str, dict[str, int]] = {name: {} for name in judged}
    for group in counted:
        judgements = counts[group["anomaly"]]
        judgements[group["judged"]] = judgements.get(group["judged"], 0) + group["count"]
    doubtful = sorted(group["cause"] for group in counted if group["judged"] == IN_DOUBT)
    return Findings(
        counts=counts,
        reasons=untold_reasons(facts),
        evidence=evidence,
        windows=None if BEGINS in facts.untold else keep(windows(history, rules.fates)),
        texts=numbered.values,
        below_log_start=rules.fates.where(is_below_start()).count(),
        doubt=configuration.doubts[doubtful[0]] if doubtful else None,
    )


def rows_with_texts(found: Findings, limit: int) -> DataFrame:
    """The first `limit` rows of evidence (0: all), with the texts of their values."""
    rows = found.evidence.select(*_PRINTED).orderBy("anomaly", "partition", "offset", "value")
    rows = rows.limit(limit) if limit else rows
    for name in _TEXTS:
        texts = found.texts.select(F.col("value").alias(name), F.col("text").alias(f"{name}_text"))
        rows = rows.join(texts, on=name, how="left").withColumn(name, F.col(f"{name}_text"))
    return rows.select(*_PRINTED).orderBy("anomaly", "partition", "offset", "value")
