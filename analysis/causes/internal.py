"""What can set back committed offsets and transactions, which are records of internal topics.

The harness does not watch `__consumer_offsets` and `__transaction_state`: their leaders and ISRs
are not recorded. So any strike may set back what depends on them. So may any fault that can move
leadership of any partition, if the brokers' defaults allow unclean elections, if there are no
leader epochs, or if commits are acknowledged before all replicas have them. Whether a KRaft quorum
lost their metadata is in doubt, unless it lost some of the topic's.

A committed offset that was set back makes records come again. Without any committed offset the
group goes on where auto.offset.reset says: at the log's end it passes over undelivered records. The
markers of a transaction that was settled before lie in the partitions' own logs, and stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analysis.causes.cause import Cause
from analysis.causes.disks.strike import Strike
from analysis.causes.disks.strikes import strikes_of
from analysis.causes.kinds import INTERNAL, OFFSETS_GONE, UNSETTLED
from analysis.causes.run_facts.configuration import UNCLEAN
from analysis.causes.run_facts.quorum_strikes import QuorumStrike, quorum_strikes
from analysis.causes.seen import Seen
from analysis.causes.settings import broker_values
from harness.model.client_settings import LATEST


def internal_causes(seen: Seen) -> Iterator[Cause]:
    """All causes that may have set internal topics back."""
    for cause in _set_back(seen):
        yield cause
        yield replace(cause, kind=UNSETTLED, unsettled_ns=cause.shown_from_ns)
        if seen.facts.resets == LATEST:
            yield replace(cause, kind=OFFSETS_GONE)
        elif seen.facts.resets is None:
            why = cause.why or "auto.offset.reset is not told"
            yield replace(cause, kind=OFFSETS_GONE, sure=False, why=why)


def _set_back(seen: Seen) -> Iterator[Cause]:
    strikes = strikes_of(seen, broker_values)  # the topic's own settings do not count
    for strike in (s for s in strikes if _hit(s, seen)):
        yield Cause(
            kind=INTERNAL,
            words=strike.words,
            at_ns=strike.invoke_ns,
            sure=strike.why is None,
            why=strike.why,
            fault=strike.fault,
            shown_from_ns=strike.invoke_ns,
        )
    for forgot in quorum_strikes(seen.happened, seen.kafka):
        if _in_time(forgot.invoke_ns, seen):
            why = forgot.why or _unseen_metadata(forgot, seen)
            yield Cause(
                kind=INTERNAL,
                words=forgot.words,
                at_ns=forgot.invoke_ns,
                sure=why is None,
                why=why,
                fault=forgot.fault,
                shown_from_ns=forgot.invoke_ns,
            )
    for fault, effects in seen.happened.known():
        loses = (
            not seen.facts.epochs
            or _acknowledged_early(seen)
            or "true" in broker_values(seen, UNCLEAN, fault["invoke_ns"], fault["heal_ok_ns"])
        )
        early = _in_time(fault["invoke_ns"], seen)
        if effects.moves_leaders and loses and early and seen.happened.hits_the_cluster(fault):
            yield Cause(
                kind=INTERNAL,
                words=f"{fault['verb']} {fault['target']} can have moved the leaders of internal "
                "topics",
                at_ns=fault["invoke_ns"],
                fault=fault["fault"],
                shown_from_ns=fault["invoke_ns"],
            )


def _unseen_metadata(forgot: QuorumStrike, seen: Seen) -> str | None:
    """Why it is not known that committed metadata went back; None where some did."""
    states = (state for partition in seen.partitions for state in partition.after(forgot.invoke_ns))
    if any(state.went_back for state in states):
        return None
    return "whether the metadata of internal topics went back is not known"


def _acknowledged_early(seen: Seen) -> bool:
    return str(seen.server.get("offsets.commit.required.acks", -1)) != "-1"


def _hit(strike: Strike, seen: Seen) -> bool:
    return strike.hit(seen) and not strike.own_topic and _in_time(strike.invoke_ns, seen)


def _in_time(time_ns: int, seen: Seen) -> bool:
    """Whether it came before the end of the final read, after which nothing shows."""
    return time_ns < max(seen.read_ended_ns.values(), default=time_ns + 1)
