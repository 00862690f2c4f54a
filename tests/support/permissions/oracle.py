"""A second opinion on what permits a record: docs/promises.md in plain Python, for one record.

It asks of one record and one anomaly: is there any answer to what nobody saw under which Kafka may
have done this (MAYBE), or did the views show it (YES)? It walks over the views, faults and blind
stretches anew for each record, and shares no code with analysis.causes.

Where an answer stands between two looks a change counts at the view that first shows it. A limit is
exclusive: what began at the very nanosecond of a change began after it.
"""

from __future__ import annotations

from tests.support.permissions.cluster import NEVER, NO, UNCLEAN, WORDS, YES, Cluster, Sent
from tests.support.permissions.elections import Elections
from tests.support.permissions.forgotten import Forgotten
from tests.support.permissions.leaders import Leaders
from tests.support.permissions.strikes import Struck


def judge(cluster: Cluster, anomaly: str, sent: Sent) -> str:
    """permitted, in-doubt or forbidden."""
    leaders, faults = Elections(cluster, sent), Struck(cluster, sent)
    several = cluster.replicas > 1
    moved = leaders.another_leader() if several else NO
    lacking = leaders.not_replicated() if several else NO
    without_epochs = NO if cluster.epochs else lacking
    unclean = leaders.unclean_election() if several else NO
    unclean = max(unclean, leaders.by_an_old_isr() if several else NO)
    acks_1 = cluster.acks == "1"
    alone = lacking if acks_1 else NO
    if anomaly == "lost":
        found = max(alone, without_epochs, unclean, faults.struck(leader=acks_1))
    elif anomaly == "vanished":
        found = max(without_epochs, unclean, faults.struck(), faults.bit(at_the_end=True))
    elif anomaly == "inconsistent-offset":
        only_acked = acks_1 and not sent.delivered
        struck = faults.struck(leader=only_acked)
        found = max(alone * only_acked, without_epochs, unclean, struck, faults.bit())
    elif anomaly == "hole":
        found = max(faults.after_strike(), faults.bit(at_the_end=True, of_log=True))
    elif anomaly == "watermark-ahead":
        found = max(faults.after_strike(), faults.lacking())
    elif anomaly == "metadata-back":
        (back,) = (view for view in leaders.backs(NEVER) if view["time_ns"] == sent.shown)
        found = leaders.quorum_hit(back)
    elif anomaly == "diverged":
        found = max(NO if cluster.epochs else moved, faults.struck())
    else:
        found = _duplicate(cluster, leaders, Forgotten(cluster, sent))
    return WORDS[found]


def may_truncate(cluster: Cluster) -> bool:
    """Whether followers may truncate what was committed, which is not asked here."""
    effects = cluster.effects.values()
    if not cluster.epochs or None in effects or cluster.kraft:
        return True
    values = (cluster.topic, *(each["topic_settings"] for each in effects if each))
    return any(each.get(UNCLEAN) == "true" for each in values)


def _duplicate(cluster: Cluster, leaders: Leaders, brokers: Forgotten) -> int:
    if cluster.idempotent:
        return brokers.forgotten()
    if cluster.retries:
        return YES
    return leaders.moved_meanwhile() if cluster.acks == "all" and cluster.replicas > 1 else NO
