"""Committed offsets that go back, and commits of generations that are over: the smallest history of
each, and its twins without it."""

from __future__ import annotations

from typing import Any

from tests.support.histories import (
    Part,
    committed,
    event,
    fault,
    final_read,
    polled,
    processed,
    sent,
    with_story,
)

Report = dict[str, Any]
ONE, OTHER = "group-consumer-0", "group-consumer-1"
TWELVE = (
    *(sent(n, at=n, ms=n) for n in range(12)),
    *(part for n in range(12) for part in (polled(n, at=n), processed(n, at=n))),
    final_read(*range(12)),
)
TELLS: dict[str, Any] = {"commit": "after", "history_format": 2}


def committing(to: int | None, ms: float, **more: Any) -> Part:
    """A member's commit, 5 ms long."""
    return committed(to, ms=ms, **{"took": 5, **more})


def asked(at: int, ms: float, **more: Any) -> Part:
    """What the coordinator answers to whom a partition is given, after 5 ms."""
    return committing(at, ms, found=True, **{"process": OTHER, **more})


def given(generation: int, ms: float, process: str = OTHER, text: str = "0") -> Part:
    """A member is given its partitions."""
    return event("assigned", ms=ms, process=process, text=text, generation=generation)


def knows(generation: int, ms: float, process: str = ONE) -> Part:
    """A member is in another generation."""
    return event("member", ms=ms, process=process, generation=generation)


def back(report: Report) -> list[tuple[int, int]]:
    """From where to where committed offsets went."""
    rows = report["anomalies"]["commit-back"]["examples"]
    return [(row["other_offset"], row["offset"]) for row in rows]


def zombies(report: Report) -> list[tuple[str, int]]:
    """Who committed what."""
    rows = report["anomalies"]["zombie-commit"]["examples"]
    return [(row["reader"], row["offset"]) for row in rows]


# --- commit-back


@with_story(*TWELVE, committing(7, 500), committing(10, 600), asked(7, 700), **TELLS)
def test_an_answer_below_what_was_acknowledged_is_a_step_back(report: Report) -> None:
    assert back(report) == [(10, 7)]
    assert report["anomalies"]["commit-back"]["convicts"] is True
    row = report["anomalies"]["commit-back"]["examples"][0]
    assert (row["reader"], row["time_s"], row["value"]) == (OTHER, 0.705, None)
    assert report["verdict"] == "invalid"


@with_story(
    *TWELVE, committing(7, 500), committing(10, 600), asked(10, 700), asked(12, 800), **TELLS
)
def test_an_answer_at_what_was_acknowledged_or_above_is_none(report: Report) -> None:
    assert back(report) == []
    assert report["verdict"] == "valid"


@with_story(*TWELVE, committing(10, 600), asked(3, 700), **TELLS)
def test_an_offset_that_nobody_committed_is_one_all_the_same(report: Report) -> None:
    assert back(report) == [(10, 3)]


@with_story(*TWELVE, committing(7, 500), committing(10, 600), asked(7, 603), **TELLS)
def test_what_was_asked_before_the_acknowledgement_may_be_older(report: Report) -> None:
    assert back(report) == []


@with_story(*TWELVE, committing(10, 600), committing(7, 650), asked(7, 700), **TELLS)
def test_a_member_may_commit_a_lower_offset(report: Report) -> None:
    assert back(report) == []


@with_story(*TWELVE, committing(7, 500, took=103), committing(10, 600), asked(7, 700), **TELLS)
def test_of_two_commits_at_once_either_may_be_the_last(report: Report) -> None:
    assert back(report) == []


@with_story(*TWELVE, committing(7, 500, ended="info"), committing(10, 600), asked(7, 700), **TELLS)
def test_a_commit_without_an_answer_may_arrive_late(report: Report) -> None:
    assert back(report) == []


@with_story(
    *TWELVE,
    committing(None, 500, ended="info", took=None),
    committing(10, 600),
    asked(7, 700),
    **TELLS,
)
def test_a_commit_whose_member_died_may_be_of_any_offset(report: Report) -> None:
    assert back(report) == []


@with_story(
    *TWELVE,
    committing(7, 500, ended="info"),
    committing(10, 600),
    asked(8, 700),
    **TELLS,
)
def test_a_commit_without_an_answer_explains_no_other_offset(report: Report) -> None:
    assert back(report) == [(10, 8)]


@with_story(*TWELVE, committing(10, 600), asked(7, 700), committing(7, 800), **TELLS)
def test_a_later_commit_explains_nothing(report: Report) -> None:
    assert back(report) == [(10, 7)]


@with_story(
    *TWELVE,
    sent(20, at=0, partition=1),
    final_read(20, partition=1),
    committing(10, 600),
    asked(0, 700, partition=1),
    partitions=2,
    **TELLS,
)
def test_another_partition_has_an_offset_of_its_own(report: Report) -> None:
    assert back(report) == []


@with_story(*TWELVE, committing(10, 600, ended="info"), asked(7, 700), **TELLS)
def test_what_was_not_acknowledged_was_not_promised(report: Report) -> None:
    assert back(report) == []


@with_story(*TWELVE, committing(10, 600), asked(7, 700, took=0), **TELLS)
def test_when_it_was_asked_must_be_known(report: Report) -> None:
    """Older histories have the time of the answer for both."""
    assert back(report) == []


@with_story(
    *TWELVE,
    committing(7, 500),
    committing(10, 600),
    fault("wipe", ms=650),
    asked(7, 700),
    **TELLS,
)
def test_a_fault_that_sets_internal_topics_back_permits_it(report: Report) -> None:
    assert back(report) == [(10, 7)]
    assert report["anomalies"]["commit-back"]["convicts"] is False


@with_story(
    *TWELVE,
    committing(7, 500),
    committing(10, 600),
    fault("kill", ms=650),
    asked(7, 700),
    server={"offsets.commit.required.acks": 1},
    **TELLS,
)
def test_so_may_a_failover_where_the_leader_acknowledges_alone(report: Report) -> None:
    assert back(report) == [(10, 7)]
    assert report["anomalies"]["commit-back"]["convicts"] is False


@with_story(
    *TWELVE,
    committing(7, 500),
    committing(10, 600),
    fault("kill", ms=650),
    asked(7, 700),
    **TELLS,
)
def test_but_no_failover_where_all_replicas_have_it(report: Report) -> None:
    assert report["anomalies"]["commit-back"]["convicts"] is True


@with_story(*TWELVE, committing(7, 500), committing(10, 600), asked(7, 700), commit="after")
def test_older_histories_are_not_judged(report: Report) -> None:
    assert "commit-back" in report["not_recorded"]
    assert "commit-back" not in report["anomalies"]


@with_story(
    *TWELVE,
    committing(7, 500),
    committing(10, 600),
    asked(7, 700),
    commit="auto",
    history_format=2,
)
def test_nor_are_clients_that_commit_by_themselves(report: Report) -> None:
    assert "commit-back" not in report["anomalies"]


# --- zombie-commit


JOINED = (knows(3, 90), given(3, 90, process=ONE))


@with_story(*TWELVE, *JOINED, given(4, 500), committing(10, 600, generation=3), **TELLS)
def test_a_commit_of_a_generation_that_is_over_is_a_zombie_s(report: Report) -> None:
    assert zombies(report) == [(ONE, 10)]
    assert report["anomalies"]["zombie-commit"]["convicts"] is True
    assert report["verdict"] == "invalid"


@with_story(
    *TWELVE, *JOINED, given(4, 500), committing(10, 600, generation=3, ended="info"), **TELLS
)
def test_one_that_is_refused_is_none(report: Report) -> None:
    assert zombies(report) == []


@with_story(*TWELVE, *JOINED, given(4, 602), committing(10, 600, generation=3), **TELLS)
def test_one_begun_before_another_was_given_the_next_is_none(report: Report) -> None:
    assert zombies(report) == []
    assert report["verdict"] == "valid"


@with_story(*TWELVE, *JOINED, knows(4, 500, OTHER), committing(10, 600, generation=3), **TELLS)
def test_a_generation_that_was_joined_and_not_given_out_may_never_have_stood(
    report: Report,
) -> None:
    """Its coordinator died; the next one goes on with what was written down."""
    assert zombies(report) == []


@with_story(
    *TWELVE, *JOINED, given(4, 500), committing(10, 600, generation=3), knows(4, 604), **TELLS
)
def test_who_learns_of_the_next_meanwhile_may_have_committed_in_it(report: Report) -> None:
    assert zombies(report) == []


@with_story(
    *TWELVE, *JOINED, given(4, 500), committing(10, 600, generation=3), knows(4, 606), **TELLS
)
def test_who_learns_of_it_afterwards_did_not(report: Report) -> None:
    assert zombies(report) == [(ONE, 10)]


@with_story(
    *TWELVE, *JOINED, given(4, 500), knows(4, 550), committing(10, 600, generation=4), **TELLS
)
def test_who_has_learned_of_it_commits_in_it(report: Report) -> None:
    assert zombies(report) == []


@with_story(*TWELVE, *JOINED, given(4, 500), committing(10, 600, generation=None), **TELLS)
def test_a_commit_that_names_no_generation_is_not_judged(report: Report) -> None:
    assert zombies(report) == []


@with_story(
    *TWELVE,
    *JOINED,
    given(4, 500),
    committing(10, 600, generation=3),
    consumer={"group.instance.id": "me"},
    **TELLS,
)
def test_static_members_are_not_judged(report: Report) -> None:
    assert {"zombie-commit", "two-owners"}.isdisjoint(report["anomalies"])


# --- two owners


def owners(report: Report) -> list[tuple[int, str, float | None]]:
    rows = report["anomalies"]["two-owners"]["examples"]
    return [(row["partition"], row["reader"], row["lasted_s"]) for row in rows]


def revoked(ms: float, process: str = ONE, text: str = "0") -> Part:
    return event("revoked", ms=ms, process=process, text=text, generation=3)


@with_story(*TWELVE, *JOINED, given(3, 500), revoked(700), **TELLS)
def test_two_members_with_one_partition_in_one_generation(report: Report) -> None:
    assert owners(report) == [(0, f"{ONE}, {OTHER}", 0.2)]
    assert report["anomalies"]["two-owners"]["convicts"] is True


@with_story(*TWELVE, *JOINED, revoked(400), given(3, 500), **TELLS)
def test_one_after_the_other_is_none(report: Report) -> None:
    assert owners(report) == []
    assert report["verdict"] == "valid"


@with_story(*TWELVE, *JOINED, given(4, 500), revoked(700), **TELLS)
def test_who_does_not_know_yet_that_it_is_expelled_owns_nothing_of_the_next(
    report: Report,
) -> None:
    assert owners(report) == []
    assert report["verdict"] == "valid"


@with_story(*TWELVE, *JOINED, knows(4, 450), given(4, 500), revoked(700, text=""), **TELLS)
def test_who_keeps_its_partitions_owns_them_in_the_next(report: Report) -> None:
    """As cooperative assignments do; a revocation that names none takes all."""
    assert owners(report) == [(0, f"{ONE}, {OTHER}", 0.2)]


@with_story(*TWELVE, *JOINED, given(3, 500, text="1, 2"), revoked(700), **TELLS)
def test_each_has_its_own_partitions(report: Report) -> None:
    assert owners(report) == []


@with_story(
    *TWELVE,
    *JOINED,
    event("dies", ms=400, process=ONE),
    given(3, 500),
    **TELLS,
)
def test_the_dead_own_nothing(report: Report) -> None:
    assert owners(report) == []
