"""Causes of faults and settings that an imported history does not tell: they put anomalies in
doubt, and permit none.

    no faults    =>  whatever any fault could permit is in doubt
    no acks      =>  what acks=1 permits is in doubt, by the same causes

The outcome puts a row in doubt that no lost record explains, so each cause comes twice: for all
rows, and for all outcomes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final

from analysis.causes.cause import Cause
from analysis.causes.kinds import ABORTED, EVERY, PROCESSING_FAILED, Kind
from harness.model.untold import FAULTS

_CONFIGURED: Final = (EVERY, ABORTED, PROCESSING_FAILED)
_OUTCOMES: Final = (
    *("two_values", "acked_elsewhere", "read_elsewhere", "passed_over", "in_reads"),
    "other_partition",
    *("aborted", "never", "never_sent", "never_polled", "failed", "unparsable"),
)


def unrecorded_causes(
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
