"""Finished workers: who died, who recorded what, and what explains the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analysis.verdict.doubts import doubts
from analysis.verdict.finished_workers import may_have_died, worker_doubts
from tests.support.histories import LOAD_MS, Part, damage, fault, final_read, sent, with_story
from tests.support.stored_runs import COUNTS, did, event, run_of, work

PRODUCER = {"process": "producer-0", "role": "producer"}
KILLED = {**PRODUCER, "exit": -9}
ENDED = ["worker producer-0 ended with exit code -9"]


def hit(
    verb: str, *nodes: str, ms: float = 4000, target: str = "producer", number: int = 0
) -> Part:
    """A fault at workers, from 4 to 5 s."""
    return fault(verb, target, ms=ms, number=number, nodes=nodes or ("producer-0",))


# --- deaths


def doubts_of(*parts: Part, last_ms: float, f: str = "send", **record: Any) -> list[str]:
    run = run_of(*parts, workers=[KILLED], **record)
    return list(worker_doubts(run, work(did("producer-0", f, to_ms=last_ms))))


@pytest.mark.parametrize("last_ms", [3500, 4500, 5000])
def test_a_death_in_the_time_of_a_fault_that_ends_processes_is_explained(last_ms: float) -> None:
    assert [] == doubts_of(hit("kill"), last_ms=last_ms)


@pytest.mark.parametrize("last_ms", [1900, 5001, 9000])
def test_a_death_out_of_its_time_is_not(last_ms: float) -> None:
    """It had been silent for two seconds when the fault came, or went on after its healing."""
    assert ENDED == doubts_of(hit("kill"), last_ms=last_ms)


@pytest.mark.parametrize(
    ("code", "excused"),
    [(-9, True), (-15, True), (137, True), (143, True), (1, False), (70, False)],
)
def test_an_exit_code_of_its_own_is_no_death_by_a_fault(code: int, excused: bool) -> None:
    """A signal is; a shell and a container tell it as 128 more."""
    run = run_of(hit("kill"), workers=[{**PRODUCER, "exit": code}])
    done = work(did("producer-0", to_ms=4500))
    told_of = [f"worker producer-0 ended with exit code {code}"]

    assert list(worker_doubts(run, done)) == ([] if excused else told_of)
    assert may_have_died(run, done, "producer-0") == excused


@pytest.mark.parametrize(("code", "died"), [(-9, True), (9, False), (0, False), (None, False)])
def test_a_planned_death_must_have_come(code: int | None, died: bool) -> None:
    run = run_of(workers=[{**PRODUCER, "exit": code, "dies": "before-commit"}])
    said = ["worker producer-0 should have died before-commit but did not"]

    assert list(worker_doubts(run, work(did("producer-0")))) == ([] if died else said)


@pytest.mark.parametrize("other", ["producer-1", "consumer-0"])
def test_a_planned_death_explains_no_other_one(other: str) -> None:
    run = run_of(workers=[KILLED, {"process": other, "exit": -9, "dies": "before-commit"}])

    assert may_have_died(run, work(did("producer-0")), other)
    assert not may_have_died(run, work(did("producer-0")), "producer-0")


def test_a_fault_that_ends_no_process_explains_no_death() -> None:
    assert ENDED == doubts_of(hit("pause"), last_ms=4500)


def test_nor_does_one_that_hit_another_worker() -> None:
    assert ENDED == doubts_of(hit("kill", "producer-1"), last_ms=4500)


def test_a_fault_that_was_not_healed_lasts() -> None:
    assert [] == doubts_of(
        fault("kill", "producer", ms=4000, nodes=["producer-0"], for_ms=None), last_ms=9000
    )


def test_a_producer_of_transactions_may_have_been_silent_for_long() -> None:
    """It awaits the end of each: nothing is recorded meanwhile."""
    assert [] == doubts_of(hit("kill"), last_ms=2000, isolation="read_committed")


def test_a_producer_that_was_held_back_may_have_been_silent_for_long() -> None:
    events = [event("held", "producer-0", 2000)]

    assert [] == doubts_of(hit("kill"), last_ms=2000, events=events)


def test_a_consumer_may_have_had_nothing_to_read_for_long() -> None:
    run = run_of(
        hit("kill", "consumer-0", target="consumer"),
        workers=[PRODUCER, {"process": "consumer-0", "role": "consumer", "exit": -9}],
    )
    done = work(did("producer-0"), did("consumer-0", "read", to_ms=1000))

    assert [] == list(worker_doubts(run, done))


def test_an_open_end_of_a_history_is_excused_as_the_death_is() -> None:
    run = run_of(hit("kill"))

    assert may_have_died(run, work(did("producer-0", to_ms=4500)), "producer-0")
    assert not may_have_died(run, work(did("producer-0", to_ms=9000)), "producer-0")


@pytest.mark.parametrize("kind", ["bad-record", "truncated-segment", "bad-line"])
def test_no_other_damage_of_a_worker_that_was_hit_is_excused(kind: str) -> None:
    """Being killed leaves torn records and no end, and nothing else."""
    run = run_of(hit("kill"), damage("no-end"), damage(kind, text="damaged"), damage("torn"))
    done = work(did("producer-0", to_ms=4500))

    assert doubts(run, COUNTS, 0, done)[-2:-1] == ("history of producer-0: damaged",)


def test_the_same_worker_without_that_damage_leaves_no_such_doubt() -> None:
    """The twin."""
    run = run_of(hit("kill"), damage("no-end"), damage("torn"))

    assert not [
        why
        for why in doubts(run, COUNTS, 0, work(did("producer-0", to_ms=4500)))
        if "history of" in why
    ]


# --- recorded as counted


def end(process: str, **counted: int) -> dict[str, Any]:
    return event("end", process, LOAD_MS, json.dumps({"reason": "done", **counted}))


@pytest.mark.parametrize(
    "text",
    [
        None,
        "nonsense",
        "[" * 100_000,
        '{"sends": 1',
        "[]",
        "[1]",
        '{"sends": "10"}',
        '{"sends": "many"}',
    ],
)
def test_an_end_that_counts_nothing_contradicts_nothing(text: str | None) -> None:
    ended = event("end", "producer-0", LOAD_MS, text)

    assert [] == list(worker_doubts(run_of(events=[ended]), work(*RECORDED)))


COUNTED = {"sends": 10, "acked": 7, "failed": 2, "info": 1, "reads": 0}
RECORDED = (
    did("producer-0", count=7),
    did("producer-0", count=2, ended="fail"),
    did("producer-0", count=1, ended="info"),
)


def test_what_a_worker_counted_is_there() -> None:
    assert [] == list(worker_doubts(run_of(events=[end("producer-0", **COUNTED)]), work(*RECORDED)))


@pytest.mark.parametrize(
    ("kind", "counted", "words"),
    [
        ("sends", 1000, "10 sends, not 1,000"),
        ("acked", 8, "7 acked, not 8"),
        ("failed", 0, "2 failed, not 0"),
        ("reads", 5, "0 reads, not 5"),
    ],
)
def test_an_end_that_counts_other_than_the_table_has_is_doubt(
    kind: str, counted: int, words: str
) -> None:
    """By kind of operation."""
    run = run_of(events=[end("producer-0", **{**COUNTED, kind: counted})])

    assert list(worker_doubts(run, work(*RECORDED))) == [
        f"worker producer-0 recorded {words}, as its end counts them"
    ]


@pytest.mark.parametrize("f", ["read", "poll", "final-read", "replica"])
def test_whatever_a_worker_reads_is_counted_as_reads(f: str) -> None:
    run = run_of(events=[end("any-0", reads=3)])

    assert [] == list(worker_doubts(run, work(did("any-0", f, count=3))))
    assert [] != list(worker_doubts(run, work(did("any-0", f, count=2))))


@pytest.mark.parametrize(("lookups", "right"), [(5, True), (4, True), (3, False)])
def test_each_ack_but_the_last_was_looked_up(lookups: int, right: bool) -> None:
    run = run_of(events=[end("write-read-0", sends=5, acked=5, failed=0, reads=0)])
    done = work(did("write-read-0", count=5), did("write-read-0", "lookup", count=lookups))

    assert right == (not list(worker_doubts(run, done)))


# --- workers that did nothing

SECOND = {"process": "producer-1", "role": "producer"}


def test_a_second_producer_that_recorded_nothing_is_doubt() -> None:
    run = run_of(workers=[PRODUCER, SECOND])

    assert list(worker_doubts(run, work(did("producer-0")))) == ["worker producer-1 sent nothing"]


def test_two_producers_that_sent_are_none() -> None:
    """The twin."""
    run = run_of(workers=[PRODUCER, SECOND])

    assert [] == list(worker_doubts(run, work(did("producer-0"), did("producer-1"))))


def test_sends_that_never_left_the_client_are_none() -> None:
    """It refused them all."""
    run = run_of(workers=[PRODUCER, SECOND])
    refused = did("producer-1", ended="fail", count=40, refused=40)

    assert list(worker_doubts(run, work(did("producer-0"), refused))) == [
        "worker producer-1 sent nothing"
    ]
    some = did("producer-1", ended="fail", count=40, refused=39)
    assert [] == list(worker_doubts(run, work(did("producer-0"), some)))


def test_a_transformer_that_was_given_nothing_has_nothing_to_send() -> None:
    """And one that was given something has."""
    name = "transformer-0"
    run = run_of(workers=[PRODUCER, {"process": name, "role": "transformer"}])

    assert [] == list(worker_doubts(run, work(did("producer-0"), did(name, "committed"))))
    assert list(worker_doubts(run, work(did("producer-0"), did(name, "poll")))) == [
        f"worker {name} sent nothing"
    ]


@pytest.mark.parametrize(("ms", "excused"), [(1000, True), (4900, True), (5100, False)])
def test_a_fault_excuses_one_that_had_not_long_to_send_before_it(ms: float, excused: bool) -> None:
    run = run_of(
        fault("pause", "producer-1", ms=ms, for_ms=None, nodes=["producer-1"]),
        workers=[PRODUCER, SECOND],
    )

    assert excused == (not list(worker_doubts(run, work(did("producer-0")))))


@pytest.mark.parametrize(("ms", "excused"), [(4500, True), (1000, False)])
def test_a_successor_may_have_come_too_late(ms: float, excused: bool) -> None:
    """It had the time since the healing, a second later."""
    late = {"process": "producer-0-2", "role": "producer"}
    run = run_of(hit("stop", ms=ms), workers=[PRODUCER, late])

    assert excused == (not list(worker_doubts(run, work(did("producer-0")))))


def test_one_that_another_succeeded_is_not_held_to_the_time_after_its_end() -> None:
    later = [{"process": f"producer-0-{number}", "role": "producer"} for number in (2, 3)]
    faults = [hit("stop", ms=1000), hit("stop", "producer-0-2", ms=2500, number=1)]
    run = run_of(*faults, workers=[PRODUCER, *later])

    assert [] == list(worker_doubts(run, work(did("producer-0"), did("producer-0-3"))))


@with_story(
    sent(1, at=0),
    final_read(1),
    producers=2,
    workers=[PRODUCER],
)
def test_a_worker_that_the_scenario_asks_for_and_nobody_names_is_doubt(
    report: dict[str, Any],
) -> None:
    assert report["reasons"] == [
        "worker producer-1 is asked for by the scenario and left no history"
    ]


@with_story(sent(1, at=0), final_read(1), producers=1, workers=[PRODUCER])
def test_one_that_is_asked_for_and_there_is_none(report: dict[str, Any]) -> None:
    """The twin."""
    assert (report["verdict"], report["reasons"]) == ("valid", [])


@pytest.mark.parametrize(("producers", "doubts_there_are"), [(2, 1), (1, 0)])
def test_a_second_one_is_missed_where_no_worker_is_named_at_all(
    producers: int, doubts_there_are: int
) -> None:
    run = run_of(sent(1, at=0), producers=producers)

    assert len(list(worker_doubts(run, work(did("producer-0"))))) == doubts_there_are
