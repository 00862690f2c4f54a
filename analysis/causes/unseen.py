"""What may have happened in a history that does not tell of faults, and what a configuration that
it does not tell may permit: causes that put in doubt, and permit nothing.

    faults not told    =>  whatever any fault could permit is in doubt
    acks not told      =>  what acks=1 permits is in doubt, by the same causes

A row that no record's loss explains is put in doubt by its outcome, so each of these comes twice:
for all rows, and for all outcomes.
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


def unseen_causes(
    found: Iterable[Cause], kinds: Collection[Kind], untold: Collection[str]
) -> Iterator[Cause]:
    """Those that come to what was found, of the kinds that may permit something. None of them is
    sure, so they stand behind all that are."""
    if not untold:
        return
    settings = "the configuration is not told in full"
    for cause in [each for each in found if each.sure]:
        yield replace(cause, sure=False, why=settings)
    if FAULTS not in untold:
        return
    why = "the history does not tell what happened to the cluster"
    for kind in sorted({*kinds} - {*_CONFIGURED}, key=lambda kind: kind.name):
        unseen = Cause(kind=kind, words="what happened is not told", sure=False, why=why)
        yield unseen
        yield replace(unseen, outcomes=_OUTCOMES)
