"""All checks of all runs as Spark sees them: five queries over one history.

Pure DataFrame -> DataFrame; nothing is computed before `analysis.report.write` asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from analysis.checks.availability import windows
from analysis.checks.divergence import diverged, held
from analysis.checks.duplicates import contested, duplicate, moved
from analysis.checks.groups import handled, reprocessed, skipped
from analysis.checks.loss import lost, unacknowledged_lost, unseen, vanished
from analysis.checks.phantoms import phantom, unparsable
from analysis.checks.staleness import stale_read
from analysis.checks.watermarks import early_read, looks, read_before, watermark_ahead
from analysis.frames.load import History
from analysis.frames.operations import fates, places
from analysis.measures.evidence import evidence, rows
from analysis.measures.leadership import acks_between_cuts
from analysis.measures.tally import counts, landings


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """What a check asks of its history."""

    evidence: DataFrame  # one row an anomaly, schema.EVIDENCE
    counts: DataFrame  # a row a run, a row a bucket of time
    landings: DataFrame  # a row a run
    acks: DataFrame  # a row a partition and cut of the load
    windows: DataFrame
    fates: DataFrame  # shared: worth keeping while the others are computed


def queries(history: History) -> Queries:
    """The five queries and what they share."""
    values = fates(history.operations, history.runs).persist()
    of_values = [
        lost(),
        vanished(),
        unseen(),
        duplicate(),
        moved(),
        phantom(),
        stale_read(),
        unacknowledged_lost(),
    ]
    of_places = [contested(), unparsable()]
    found = rows(values, of_values).unionByName(rows(places(history.operations), of_places))
    if history.groups:
        of_groups = handled(history.operations, values)
        found = found.unionByName(rows(of_groups, [skipped(), reprocessed()]))
    if history.replicas:
        found = found.unionByName(rows(held(history.operations), [diverged()]))
    if history.watermarks is not None:
        looked = looks(history.watermarks)
        early = rows(read_before(history.operations, looked), [early_read()])
        found = found.unionByName(rows(looked, [watermark_ahead()])).unionByName(early)
    return Queries(
        evidence=evidence(found, history),
        counts=counts(history),
        landings=landings(values, history.runs),
        acks=acks_between_cuts(history),
        windows=windows(history, values),
        fates=values,
    )
