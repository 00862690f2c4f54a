"""Enough load: what must have been sent, and when, for a run to prove anything."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.causes.run_facts.faults import Happened
from analysis.verdict.enough_load import load_doubts
from tests.support.histories import (
    LOAD_MS,
    Part,
    doubtful,
    failed,
    fault,
    final_read,
    planned,
    sent,
    unasked,
    with_story,
)
from tests.support.stored_runs import COUNTS, did, event, run_of, work

Report = dict[str, Any]

# The leader is killed from 5 to 6 s; its healing begins at 5.9 s.
KILL = fault("kill", ms=5000)
FIRST = sent(1, at=0, ms=0)
DURING = sent(2, at=1, ms=5500)
AFTER = sent(3, at=2, ms=5950)
MET_NONE = "fault 0 (kill leader) met no load: no send was begun or outstanding meanwhile"
NONE_AFTER = (
    "no send was begun or outstanding after the healing of fault 0 (kill leader) began, at 5.9 s"
)


def dead(value: int, **more: Any) -> Any:
    """A send that a producer refused after a fatal error."""
    return sent(value, ended="fail", error="_FATAL", **more)


# --- faults without load


@with_story(FIRST, KILL, final_read(1), loaded=False)
def test_a_fault_long_after_the_last_send_met_no_load(report: Report) -> None:
    """A kill at 5 s when the last send was at 0 s."""
    assert report["verdict"] == "unknown"
    assert report["reasons"] == [MET_NONE, NONE_AFTER]


@with_story(FIRST, KILL, DURING, AFTER, final_read(1, 2, 3), loaded=False)
def test_sends_before_during_and_after_a_fault_are_enough(report: Report) -> None:
    """The twin. The healing is proved at 6 s; it is its begin that counts."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(FIRST, KILL, AFTER, final_read({0: 1, 2: 3}), loaded=False)
def test_a_send_between_the_healing_s_begin_and_its_proof_is_during_and_after(
    report: Report,
) -> None:
    assert MET_NONE not in report["reasons"]
    assert NONE_AFTER not in report["reasons"]


@with_story(FIRST, KILL, DURING, final_read(1, 2), loaded=False)
def test_that_the_cluster_works_again_must_have_been_tried(report: Report) -> None:
    assert report["reasons"] == [NONE_AFTER]


@with_story(FIRST, doubtful(2, ms=4900, took=2000), KILL, final_read(1), loaded=False)
def test_a_send_that_is_outstanding_all_the_time_is_load(report: Report) -> None:
    """Acks are not load: nothing is acknowledged while the fault is in force."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(FIRST, doubtful(2, ms=4900, took=None), KILL, final_read(1), loaded=False)
def test_a_send_that_never_ended_is_outstanding_until_the_load_ends(report: Report) -> None:
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(FIRST, dead(2, ms=5500), dead(3, ms=7000), KILL, final_read(1), loaded=False)
def test_what_the_client_refused_is_no_load(report: Report) -> None:
    """Kafka was never asked."""
    assert {MET_NONE, NONE_AFTER} <= set(report["reasons"])


@with_story(KILL, DURING, AFTER, doubtful(9, ms=5960), final_read(9, 2, 3), loaded=False)
def test_something_must_have_been_sent_before_the_first_fault(report: Report) -> None:
    """Else there was nothing to be lost."""
    assert report["reasons"] == ["no send was begun before the first fault, fault 0 (kill leader)"]


@with_story(
    fault("kill", ms=1),
    sent(1, at=0, ms=500),
    sent(2, at=1, ms=2000),
    final_read(1, 2),
    plan=[{**step, "at": 0.0} for step in planned("kill")],
    loaded=False,
)
def test_unless_it_was_to_come_with_the_load(report: Report) -> None:
    """The twin: planned for 0 s."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


def short(*, before_ms: float, after_ms: float) -> tuple[Part, ...]:
    """A pause of 200 ms from 5 s on, with a send before it and one after it."""
    pause = fault("pause", ms=5000, for_ms=200, healing_took=100)
    sends = sent(2, at=1, ms=before_ms), sent(3, at=2, ms=after_ms)
    return (FIRST, pause, *sends, final_read(1, 2, 3))


@with_story(*short(before_ms=4300, after_ms=5900), loaded=False)
def test_a_fault_shorter_than_a_second_is_met_within_a_second_of_it(report: Report) -> None:
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(*short(before_ms=3900, after_ms=6300), loaded=False)
def test_and_not_beyond_that(report: Report) -> None:
    """The twin."""
    assert report["reasons"] == [
        "fault 0 (pause leader) met no load: no send was begun or outstanding meanwhile"
    ]


TWO = [{"process": f"producer-{number}", "role": "producer"} for number in (0, 1)]
ALL_STOPPED = ["producer-0", "producer-1"]
STOPPED_NONE = "fault 0 ({} producers) met no load: none that it stopped had sent shortly before"


def at_producers(
    *rows: Any, verb: str = "kill", nodes: Any = ALL_STOPPED, for_ms: float | None = 1000
) -> list[str]:
    """The doubts of a fault at producers at 5 s, of two that there are."""
    run = run_of(fault(verb, "producers", ms=5000, for_ms=for_ms, nodes=nodes), workers=TWO)
    return list(load_doubts(run, COUNTS, work(*rows)))


QUIET = did("producer-0", to_ms=4999, before=[0])
AGAIN = did("producer-0-2", from_ms=6100, to_ms=9000)
OF_PRODUCERS = "no send was begun or outstanding after the healing of fault 0 ({} producers) began"


@pytest.mark.parametrize("verb", ["kill", "stop", "pause"])
def test_a_fault_that_stops_all_who_send_stops_its_own_load(verb: str) -> None:
    assert at_producers(QUIET, AGAIN, verb=verb) == []


@pytest.mark.parametrize("verb", ["kill", "pause"])
def test_but_what_it_stopped_must_have_sent_shortly_before(verb: str) -> None:
    silent = did("producer-0", to_ms=1000)

    assert at_producers(silent, AGAIN, verb=verb) == [STOPPED_NONE.format(verb)]


def test_one_that_stops_nobody_needs_load_as_any_other() -> None:
    """A producer that is cut off begins sends all the same."""
    assert at_producers(QUIET, AGAIN, verb="cut") == [
        "fault 0 (cut producers) met no load: no send was begun or outstanding meanwhile"
    ]
    assert at_producers(did("producer-0", met=[0]), verb="cut") == []


def test_one_that_stops_some_of_those_who_send_needs_load_of_the_others() -> None:
    assert at_producers(QUIET, AGAIN, nodes=["producer-0"]) == [
        "fault 0 (kill producers) met no load: no send was begun or outstanding meanwhile"
    ]
    assert at_producers(QUIET, did("producer-1", met=[0]), nodes=["producer-0"]) == []


def test_those_that_several_faults_stop_together_are_stopped() -> None:
    faults = [
        fault("pause", name, ms=5000 + number, nodes=[name], number=number)
        for number, name in enumerate(ALL_STOPPED)
    ]
    sent_before = did("producer-0", before=[0]), did("producer-1", before=[1])

    assert [] == list(load_doubts(run_of(*faults, workers=TWO), COUNTS, work(*sent_before)))


def test_the_plan_is_read_once_however_many_faults_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Read for each pair of faults, two hundred pauses of a producer took most of a minute."""
    read, of = [], Happened.of

    def counted(faults: Any, plan: Any) -> Happened:
        read.append(plan)
        return of(faults, plan)

    monkeypatch.setattr(Happened, "of", counted)
    pauses = [
        fault("pause", "producer", ms=1000 * n, for_ms=500, nodes=["producer-0"], number=n)
        for n in range(1, 9)
    ]
    sends = work(did("producer-0", met=list(range(1, 9))))

    assert [] == list(load_doubts(run_of(*pauses), COUNTS, sends))
    assert len(read) == 1


@pytest.mark.parametrize(("for_ms", "enough"), [(1000, False), (4500, True), (None, True)])
def test_where_the_load_ran_on_after_its_healing_something_must_have_been_sent(
    for_ms: float | None, enough: bool
) -> None:
    """The load lasts for ten seconds."""
    found = at_producers(QUIET, for_ms=for_ms)

    assert enough == (not found)
    assert enough or found[0].startswith(OF_PRODUCERS.format("kill"))


@with_story(
    FIRST, fault("pause", "producer", ms=5000, nodes=["producer-0"]), final_read(1), loaded=False
)
def test_a_pause_long_after_the_only_send_met_no_load(report: Report) -> None:
    assert report["verdict"] == "unknown"
    assert len(report["reasons"]) == 2


@with_story(
    FIRST,
    sent(2, at=1, ms=4500),
    sent(3, at=2, ms=6050),
    fault("pause", "producer", ms=5000, nodes=["producer-0"]),
    final_read(1, 2, 3),
    loaded=False,
)
def test_a_send_before_and_after_is_enough_for_it(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


def test_one_that_stops_those_who_read_does_not() -> None:
    """The twin."""
    killed = fault("kill", "consumers", ms=5000, nodes=["consumer-0"])

    assert len(list(load_doubts(run_of(killed), COUNTS, work(did("producer-0", to_ms=4999))))) == 2


@pytest.mark.parametrize(
    ("held_ms", "released_ms", "excused"),
    [
        (4000, 7000, True),
        (4000, None, True),
        (4000, 5001, True),  # from before it: its begin met nobody on purpose
        (5100, 5700, True),  # most of it
        (5100, 5500, False),
        (5999, 6500, False),  # a moment of it
        (1000, 4000, False),
        (6500, 7000, False),
    ],
)
def test_a_fault_while_the_load_was_held_back_on_purpose_needs_none(
    held_ms: float, released_ms: float | None, excused: bool
) -> None:
    events = [event("held", "producer-0", held_ms)]
    if released_ms is not None:
        events.append(event("released", "producer-0", released_ms))
    done = work(did("producer-0", to_ms=LOAD_MS))

    assert excused == (MET_NONE not in load_doubts(run_of(KILL, events=events), COUNTS, done))


def test_one_producer_s_release_is_not_another_s() -> None:
    """Each is told by its name, as tables spell it out anew in each row."""
    mine, other = ("-".join(("producer", number)) for number in "01")
    held = [event("held", "producer-0", 1000), event("released", mine, 4000)]
    done = work(did("producer-0", to_ms=LOAD_MS))

    assert MET_NONE in load_doubts(run_of(KILL, events=held), COUNTS, done)
    held[1] = event("released", other, 4000)
    assert MET_NONE not in load_doubts(run_of(KILL, events=held), COUNTS, done)


@pytest.mark.parametrize("name", ["assigned", "dies", "released", "revoked"])
def test_nothing_else_holds_the_load_back(name: str) -> None:
    done = work(did("producer-0", to_ms=LOAD_MS))
    run = run_of(KILL, events=[event(name, "producer-0", 4000)])

    assert MET_NONE in load_doubts(run, COUNTS, done)


# --- sends that failed for no reason


@with_story(sent(1, at=0), *(dead(n) for n in (2, 3)), final_read(1))
def test_a_client_that_refuses_most_sends_proves_nothing(report: Report) -> None:
    """Three acks beside 2,997 fatal errors."""
    assert report["reasons"] == ["2 of 3 sends were refused by the client and never left it"]


@with_story(sent(1, at=0), dead(2), final_read(1))
def test_half_of_them_may_be_refused(report: Report) -> None:
    """The twin, at the border."""
    assert report["verdict"] == "valid"


@with_story(sent(1, at=0), doubtful(2), doubtful(3), final_read(1))
def test_sends_that_nobody_answered_and_no_fault_explains_prove_nothing(report: Report) -> None:
    assert report["reasons"] == ["2 of 3 sends were not acknowledged though no fault was in force"]


@with_story(
    sent(1, at=0, ms=0),
    doubtful(2, ms=5100),
    doubtful(3, ms=5200),
    doubtful(4, ms=4900, took=200),
    KILL,
    final_read(1),
)
def test_those_that_a_fault_overlaps_are_explained(report: Report) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(unasked(1), unasked(2), final_read(1, 2), acks="0")
def test_with_acks_0_nobody_was_asked(report: Report) -> None:
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(
    sent(1, at=0), *(sent(n, ended="fail", error="_ABORTED") for n in (2, 3)), final_read(1)
)
def test_a_transaction_s_abort_is_an_answer(report: Report) -> None:
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@with_story(sent(1, at=0), failed(2), failed(3), failed(4), final_read(1))
def test_a_full_queue_is_the_client_s_refusal(report: Report) -> None:
    assert report["reasons"] == ["3 of 4 sends were refused by the client and never left it"]
