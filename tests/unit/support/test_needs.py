"""What a test needs and does not find is a skip with its reason, or a failure where it must be."""

from __future__ import annotations

import pytest

from harness.host import system_packages
from tests.support.needs import WORDS, lacks, needs


@pytest.fixture(autouse=True)
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is to be found, and HARNESS_REQUIRE is unset."""
    monkeypatch.setattr(system_packages, "program", lambda _: None)
    monkeypatch.delenv("HARNESS_REQUIRE", raising=False)


@pytest.mark.parametrize(("word", "why"), [("strace", "strace is"), ("browser", "Chromium is not")])
def test_what_is_missing_is_a_skip_with_its_reason(word: str, why: str) -> None:
    with pytest.raises(pytest.skip.Exception, match=f"^{word}: {why}"):
        needs(word)


def test_where_it_is_required_it_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_REQUIRE", "docker,strace")

    with pytest.raises(pytest.fail.Exception, match="strace is not installed"):
        needs("strace")
    with pytest.raises(pytest.fail.Exception, match="no engine"):
        lacks("docker", "no engine")
    with pytest.raises(pytest.skip.Exception):
        needs("browser")


def test_a_word_that_nothing_needs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would require nothing."""
    monkeypatch.setenv("HARNESS_REQUIRE", "chromium")

    with pytest.raises(AssertionError, match=", ".join(WORDS)):
        needs("browser")
