"""Facts of a run whose configuration is safe, and what of it is forbidden."""

from __future__ import annotations

from analysis.anomalies import promised
from analysis.run_facts.configuration import Facts

# acks=all with an idempotent producer, clean elections, and a leader that was killed.
SAFE = Facts(
    acks="all",
    retries=2147483647,
    idempotent=True,
    replicas=3,
    unclean=False,
    epochs=True,
    flushed=False,
    checks_crcs=False,
    leader_may_move=True,
)


def forbidden(facts: Facts) -> set[str]:
    return {name for name, promise in promised(facts).items() if promise.forbidden}
