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
    checks_crcs=False,
)


def forbidden(facts: Facts) -> set[str]:
    """The anomalies of which no record is permitted, whatever happens."""
    return {name for name, rows in promised(facts).items() if rows[0].forbids}
