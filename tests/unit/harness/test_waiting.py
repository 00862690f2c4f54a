"""Waiting has a deadline and says what was awaited."""

from __future__ import annotations

import pytest

from harness.waiting import Deadline, WaitTimeout, wait_until


def test_the_answer_that_ended_the_wait_is_returned():
    answers = iter([None, 0, "", "here"])

    assert wait_until(lambda: next(answers), timeout_s=10, what="it", every_s=0) == "here"


def test_a_wait_that_ends_in_vain_names_what_was_awaited():
    with pytest.raises(WaitTimeout, match=r"waited 0\.01 s for the moon"):
        wait_until(lambda: False, timeout_s=0.01, what="the moon", every_s=0)


def test_expected_errors_count_as_not_yet_and_the_last_one_is_told():
    def ask() -> bool:
        raise KeyError("still dark")

    with pytest.raises(WaitTimeout, match="still dark"):
        wait_until(ask, timeout_s=0.01, what="the moon", every_s=0, ignoring=(KeyError,))


def test_any_other_error_is_raised_at_once():
    calls = []

    def ask() -> bool:
        calls.append(1)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        wait_until(ask, timeout_s=10, what="the moon", ignoring=(KeyError,))
    assert calls == [1]


def test_a_shared_deadline_gives_what_is_left_and_never_less_than_nothing():
    assert Deadline(100).within(5) == 5
    assert 5 < Deadline(100).within() <= 100
    assert Deadline(-1).within() == 0
