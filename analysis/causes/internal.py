"""What can set back committed offsets and transactions, which are records of internal topics.

Nobody watches `__consumer_offsets` and `__transaction_state`: who leads them and who is in their
ISRs is not recorded. So what hangs on them may be set back by any strike and, where the brokers'
own defaults allow unclean elections or there are no leader epochs, by any fault that can move
leadership, of whichever partition.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.causes.cause import Cause
from analysis.causes.kinds import INTERNAL
from analysis.causes.seen import Seen
from analysis.causes.settings import KEY
from analysis.causes.strikes import strikes_of

MOVES = ("where-it-hits", "anywhere")


def internal_causes(seen: Seen) -> Iterator[Cause]:
    """All causes that may have set internal topics back."""
    for strike in strikes_of(seen):
        yield Cause(
            kind=INTERNAL,
            words=strike.words,
            at_ns=strike.invoke_ns,
            sure=strike.why is None,
            why=strike.why,
            fault=strike.fault,
            shown_from_ns=strike.invoke_ns,
        )
    if seen.epochs and str(seen.server.get(KEY, "false")).lower() != "true":
        return
    for fault, effects in seen.happened.known():
        moves = effects.leadership in MOVES and not effects.clients_only
        if moves and seen.happened.hits_the_cluster(fault):
            yield Cause(
                kind=INTERNAL,
                words=f"{fault['verb']} {fault['target']} can have moved the leaders of internal "
                "topics",
                at_ns=fault["invoke_ns"],
                fault=fault["fault"],
                shown_from_ns=fault["invoke_ns"],
            )
