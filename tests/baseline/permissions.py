"""What permits what at a cell."""

from __future__ import annotations

from analysis.causes.seen import Seen
from analysis.causes.states import partitions_of
from analysis.permission import Permission, permission
from analysis.run_facts.configuration import facts_of
from analysis.run_facts.faults import Happened
from analysis.stored.member_stops import Stop
from tests.baseline.cells import BROKERS, ELSEWHERE, Case, Configuration, run_of

DIED = (Stop(process="group-consumer-0", at_ns=50, words="died"),)


def permission_in(configuration: Configuration, case: Case) -> Permission:
    """What permits what in such a run."""
    run = run_of(configuration, case)
    happened = Happened.of(run["faults"], run["plan"], run["nodes"])
    known = facts_of(run["scenario"], run["server"], happened.settings())
    least_safe = facts_of(run["scenario"], run["server"], happened.settings(unknown_did_all=True))
    seen = Seen(
        happened=happened,
        partitions=partitions_of(
            run["views"], run["blind"], 2 if ELSEWHERE in case.situation else 1
        ),
        brokers=BROKERS,
        topic_config=configuration.topic,
        server=configuration.server,
        epochs=known.epochs,
        acks_1=known.acks == "1",
        stops=DIED if configuration.members_died else (),
    )
    return permission(known, least_safe, seen)
