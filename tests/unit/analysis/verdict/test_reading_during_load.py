"""Who reads during the load: consumers that follow the log, and the group."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.verdict.complete_reading import reading_doubts
from tests.support.histories import (
    LOAD_MS,
    Part,
    committed,
    fault,
    final_read,
    polled,
    processed,
    read,
    sent,
    with_story,
)
from tests.support.stored_runs import COUNTS, did, event, run_of, work

Report = dict[str, Any]
SENDS = did("producer-0", from_ms=0, to_ms=9000, count=100)


# --- consumers that follow the log

CONSUMER = {"process": "consumer-0", "role": "consumer"}
WORKERS = [{"process": "producer-0"}, CONSUMER]
STOOD = (
    "worker consumer-0 was given nothing after 4.4 s, though records were acknowledged until 9.0 s"
)


def doubts_of(*rows: dict[str, Any], **record: Any) -> list[str]:
    run = run_of(final_read(1), **{"workers": WORKERS, "consumers": 1, **record})
    return list(reading_doubts(run, COUNTS, 0, work(SENDS, *rows)))


def test_a_consumer_that_never_read_is_doubt() -> None:
    assert doubts_of() == ["worker consumer-0 read nothing"]


def test_so_is_one_of_which_there_is_no_trace() -> None:
    assert doubts_of(workers=[]) == [
        "no consumer that follows the log read anything, though the scenario asks for one"
    ]
    assert doubts_of(workers=[], consumers=0) == []
    assert doubts_of(did("consumer-0", "read"), workers=[]) == []


def test_polls_of_a_group_are_not_its_own() -> None:
    assert doubts_of(did("group-consumer-0", "poll")) == ["worker consumer-0 read nothing"]


def test_one_that_read_is_none() -> None:
    """The twin."""
    assert doubts_of(did("consumer-0", "read")) == []


@pytest.mark.parametrize(("last_ms", "stood"), [(100, True), (4400, True), (4600, False)])
def test_one_that_stood_still_for_most_of_the_time_is_doubt(last_ms: float, stood: bool) -> None:
    """It read the first record, and no more."""
    told_of = doubts_of(did("consumer-0", "read", to_ms=last_ms))

    assert bool(told_of) == stood
    assert not stood or told_of[0].startswith("worker consumer-0 was given nothing after")


def test_the_words_name_both_times() -> None:
    assert doubts_of(did("consumer-0", "read", to_ms=4400)) == [STOOD]


def test_a_stop_of_a_second_is_none_however_short_the_load_was() -> None:
    short = did("producer-0", from_ms=0, to_ms=1100, count=2)
    run = run_of(final_read(1), workers=WORKERS)
    done = work(short, did("consumer-0", "read", to_ms=100))

    assert [] == list(reading_doubts(run, COUNTS, 0, done))


def hit(ms: float, for_ms: float | None, node: str = "consumer-0", verb: str = "pause") -> Part:
    return fault(verb, "consumer", ms=ms, for_ms=for_ms, nodes=[node])


LATER = {"process": "consumer-0-2", "role": "consumer"}


def with_fault(one: Part, *rows: dict[str, Any]) -> list[str]:
    run = run_of(final_read(1), one, workers=[*WORKERS, LATER], consumers=1)
    return list(reading_doubts(run, COUNTS, 0, work(SENDS, *rows)))


@pytest.mark.parametrize("rows", [[], [did("consumer-0", "read", to_ms=100)]])
@pytest.mark.parametrize(
    ("ms", "for_ms", "excused"),
    [
        (200, 8800, True),
        (200, 4550, True),  # it stood still for another 4.5 s: no more than half
        (200, 4000, False),
        (8500, 500, False),
        (4000, None, True),  # never healed
        (9000, 500, False),  # after all acks
    ],
)
def test_a_fault_excuses_a_consumer_for_its_own_time_only(
    rows: list[dict[str, Any]], ms: float, for_ms: float | None, excused: bool
) -> None:
    assert excused == (not with_fault(hit(ms, for_ms), *rows))


def test_a_fault_at_another_consumer_excuses_nothing() -> None:
    assert [] != with_fault(hit(200, 8800, "consumer-1"), did("consumer-0", "read", to_ms=100))


@pytest.mark.parametrize(("last_ms", "stood"), [(1600, True), (4600, False)])
def test_a_successor_is_held_to_the_time_since_it_took_over(last_ms: float, stood: bool) -> None:
    killed = hit(500, 1000, verb="kill")
    rows = (
        did("consumer-0", "read", to_ms=490),
        did("consumer-0-2", "read", from_ms=1550, to_ms=last_ms),
    )

    told_of = [
        "worker consumer-0-2 was given nothing after 1.6 s, though records were acknowledged until "
        "9.0 s"
    ]
    assert with_fault(killed, *rows) == (told_of if stood else [])


SECOND = did("producer-0", from_ms=0, to_ms=9000, count=100, partition=1)
NOT_READ = "worker consumer-0 read nothing of partition 1, though records were acknowledged there"


def test_a_consumer_must_have_read_of_each_partition_that_has_acks() -> None:
    first, second = (did("consumer-0", "read", partition=number) for number in (0, 1))

    assert doubts_of(SECOND, first) == [NOT_READ]
    assert doubts_of(SECOND, first, second) == []


def test_acks_of_a_moment_in_a_partition_need_not_have_been_read() -> None:
    """The twin: they may have come too late, or be lost."""
    late = did("producer-0", from_ms=8000, to_ms=9000, partition=1)

    assert doubts_of(late, did("consumer-0", "read")) == []


@with_story(
    sent(1, at=0, ms=0),
    sent(2, at=1, ms=9000),
    read(1, at=0, ms=100),
    polled(1, at=0, ms=200),
    polled(2, at=1, ms=9100),
    processed(1, at=0, ms=300),
    processed(2, at=1, ms=9200),
    committed(2, ms=9300),
    final_read(1, 2),
    commit="after",
    consumers=1,
)
def test_one_that_stood_still_while_a_group_went_on_is_seen(report: Report) -> None:
    """No consume window tells it: the group's polls are deliveries."""
    assert report["longest_window_s"]["consume"] == 0
    assert report["reasons"] == [
        "worker consumer-0 was given nothing after 0.1 s, though records were acknowledged until "
        "9.0 s"
    ]


# --- the group

MEMBERS = [{"process": f"group-consumer-{n}", "role": "group-consumer"} for n in (0, 1)]


def of_group(*rows: dict[str, Any], events: Any = (), faults: Any = ()) -> list[str]:
    run = run_of(final_read(1), *faults, workers=MEMBERS, commit="after", events=events)
    counts = {**COUNTS, "processed": 1}
    return list(reading_doubts(run, counts, 0, work(SENDS, *ACKED, COMMITTED, *rows)))


ACKED = [did("producer-0", from_ms=0, to_ms=9000, partition=number) for number in (2, 3)]
COMMITTED = did("group-consumer-0", "commit")
FIRST = [did("group-consumer-0", "poll", partition=number) for number in (0, 2, 3)]
GIVEN = event("assigned", "group-consumer-1", 100, "2, 3")
IDLE = "worker group-consumer-1 was assigned partitions 2, 3 and polled nothing"


def taken_away(ms: float) -> dict[str, Any]:
    return event("revoked", "group-consumer-1", ms, "2, 3")


@pytest.mark.parametrize(
    "events",
    [
        [GIVEN],
        [GIVEN, taken_away(LOAD_MS + 100)],  # it leaves in order
        [GIVEN, taken_away(9000)],
        [GIVEN, taken_away(1000), event("assigned", "group-consumer-1", 1100, "2, 3")],
        [GIVEN, event("revoked", "group-consumer-1", 200, "4")],
    ],
    ids=["kept", "taken when it left", "at the last ack", "given again", "another"],
)
def test_a_member_that_has_partitions_and_polls_nothing_is_doubt(events: Any) -> None:
    assert of_group(*FIRST, events=events) == [IDLE]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [event("assigned", "group-consumer-1", 100, "")],
        [GIVEN, taken_away(200)],
        [GIVEN, event("revoked", "group-consumer-1", 200, "")],  # of all
        [event("assigned", "group-consumer-1", 9000, "2, 3")],
        [event("assigned", "group-consumer-1", 100, "5")],
    ],
    ids=["none", "an empty one", "taken away", "all taken away", "at the end", "without acks"],
)
def test_a_member_without_an_assignment_of_some_length_is_excused(events: Any) -> None:
    assert of_group(*FIRST, events=events) == []


@pytest.mark.parametrize(("for_ms", "excused"), [(8000, True), (1000, False)])
def test_a_member_that_a_fault_hit_is_excused_meanwhile(for_ms: float, excused: bool) -> None:
    faults = [hit(500, for_ms, "group-consumer-1")]

    assert of_group(*FIRST, events=[GIVEN], faults=faults) == ([] if excused else [IDLE])


STILL = "the consumer group {} nothing after 0.1 s, though records were acknowledged until 9.0 s"
STOPPED = [did("group-consumer-0", "poll", to_ms=100, partition=number) for number in (0, 2, 3)]


def test_a_group_that_stood_still_is_doubt() -> None:
    assert of_group(*STOPPED) == [STILL.format("was given")]


@pytest.mark.parametrize(
    ("nodes", "excused"),
    [(["group-consumer-0"], False), (["group-consumer-0", "group-consumer-1"], True)],
)
def test_a_fault_excuses_a_group_only_where_it_hit_all_that_polled(
    nodes: list[str], excused: bool
) -> None:
    other = did("group-consumer-1", "poll", to_ms=100)
    paused = fault("pause", "group-consumers", ms=200, for_ms=8800, nodes=nodes)

    assert excused == (not of_group(*STOPPED, other, faults=[paused]))


def test_a_member_s_planned_death_excuses_until_another_was_assigned() -> None:
    died = event("dies", "group-consumer-0", 110)
    late = event("assigned", "group-consumer-0-2", 5000, "0")
    soon = event("assigned", "group-consumer-0-2", 300, "0")

    assert of_group(*STOPPED, events=[died, late]) == []
    assert of_group(*STOPPED, events=[died, soon]) == [STILL.format("was given")]


def test_a_group_that_stopped_processing_is_doubt() -> None:
    """It polls on, and does nothing with what it is given."""
    assert of_group(*FIRST, did("group-consumer-0", "process", to_ms=100)) == [
        STILL.format("processed")
    ]
    assert of_group(*FIRST, did("group-consumer-0", "process", to_ms=9000)) == []


NO_ANSWER = did("group-consumer-0", "commit", ended="info")


@pytest.mark.parametrize(
    ("rows", "doubts"),
    [
        ([], ["the consumer group committed nothing"]),
        ([NO_ANSWER], ["the consumer group committed nothing"]),
        ([COMMITTED], []),
        ([did("group-consumer-0", "committed")], []),
    ],
)
def test_a_group_that_committed_nothing_is_doubt(
    rows: list[dict[str, Any]], doubts: list[str]
) -> None:
    run = run_of(final_read(1), workers=MEMBERS, commit="after")
    done = [did("group-consumer-0", f) for f in ("poll", "process")]

    assert doubts == list(
        reading_doubts(run, {**COUNTS, "processed": 1}, 0, work(SENDS, *done, *rows))
    )


def test_a_group_that_was_over_in_a_moment_need_not_have_committed() -> None:
    short = did("producer-0", from_ms=0, to_ms=100)
    done = [did("group-consumer-0", f, to_ms=900) for f in ("poll", "process")]
    run = run_of(final_read(1), workers=MEMBERS, commit="after")

    assert [] == list(reading_doubts(run, {**COUNTS, "processed": 1}, 0, work(short, *done)))


def test_a_group_must_have_polled_of_each_partition_that_has_acks() -> None:
    assert of_group(*FIRST[:2]) == [
        "the consumer group polled nothing of partition 3, though records were acknowledged there"
    ]
