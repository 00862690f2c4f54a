"""What a test needs and does not find is a skip with its reason, or a failure where it must be."""

from __future__ import annotations

import pytest

from harness.host import system_packages
from tests.support.needs import WORDS, needs


@pytest.fixture(autouse=True)
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is to be found, and HARNESS_REQUIRE is unset."""
    monkeypatch.setattr(system_packages, "program", lambda _: None)
    monkeypatch.delenv("HARNESS_REQUIRE", raising=False)


def ends(word: str) -> tuple[type[BaseException], str]:
    """How it ends for a test that needs this; a skip must not be one of the test that asks."""
    with pytest.raises((pytest.skip.Exception, pytest.fail.Exception, AssertionError)) as ended:
        needs(word)
    return ended.type, str(ended.value)


@pytest.mark.parametrize(("word", "why"), [("strace", "strace is"), ("browser", "Chromium is not")])
def test_what_is_missing_is_a_skip_with_its_reason(word: str, why: str) -> None:
    how, told = ends(word)

    assert how is pytest.skip.Exception
    assert told.startswith(f"{word}: {why}")


def test_where_it_is_required_it_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_REQUIRE", "docker,strace")

    assert pytest.fail.Exception is ends("strace")[0]
    assert pytest.skip.Exception is ends("browser")[0]


def test_a_word_that_nothing_needs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would require nothing."""
    monkeypatch.setenv("HARNESS_REQUIRE", "chromium")
    how, told = ends("browser")

    assert how is AssertionError
    assert ", ".join(WORDS) in told
