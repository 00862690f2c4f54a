"""What a checker must state: an anomaly without its last promise is refused where it is made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from analysis.causes.kinds import STRIKE
from analysis.causes.run_facts.configuration import Facts
from analysis.checks.anomaly import Anomaly, PromiseError
from analysis.checks.promise import ALWAYS, OTHERWISE, Promise, forbidden, permitted, when
from analysis.frames.evidence import by_value
from tests.support.permitting import SAFE

UNLIKELY = permitted(when("acks=7", lambda facts: facts.acks == "7"), "Nobody says so.", "nobody")
ELSE = forbidden(OTHERWISE, "Nobody says otherwise.", "nobody")


def anomaly(*promises: Promise) -> Anomaly:
    return Anomaly(
        name="late-ack",
        rules={by_value: test_rows_that_hold_are_read_up_to_the_first_that_speaks_of_all},  # type: ignore[dict-item]
        meaning="late",
        noun="late ack",
        promises=promises,
    )


@pytest.mark.parametrize("promises", [(), (UNLIKELY,), (ELSE, UNLIKELY)])
def test_promises_without_a_last_one_that_always_holds_are_refused(
    promises: tuple[Promise, ...],
) -> None:
    """The sentence names the anomaly, its file and the remedy."""
    with pytest.raises(PromiseError) as refused:
        anomaly(*promises)

    assert str(refused.value) == (
        "tests/unit/analysis/checks/test_anomaly.py: late-ack has no promise that always holds: "
        "end its promises with forbidden(OTHERWISE, …) or permitted(ALWAYS, …)"
    )


def test_rows_that_hold_are_read_up_to_the_first_that_speaks_of_all() -> None:
    facts: Facts = SAFE
    some = permitted(OTHERWISE, "Some may.", "nobody", by=STRIKE)
    always = permitted(ALWAYS, "It may.", "nobody")

    assert anomaly(UNLIKELY, ELSE).promises_for(facts) == (ELSE,)
    assert anomaly(some, UNLIKELY, ELSE).promises_for(facts) == (some, ELSE)
    assert anomaly(some, always, ELSE).promises_for(facts) == (some, always)


def test_a_last_row_that_permits_some_records_only_is_refused() -> None:
    """Nobody would speak of the others."""
    with pytest.raises(PromiseError):
        anomaly(permitted(OTHERWISE, "Some may.", "nobody", by=STRIKE))


def test_a_checker_without_its_last_promise_is_one_error_at_import(tmp_path: Path) -> None:
    checker = (Path(by_value.__code__.co_filename).parents[1] / "checks/staleness.py").read_text()
    broken = checker.split("    promises=(")[0] + ")\n"
    (tmp_path / "stale.py").write_text(broken)

    done = subprocess.run(
        [sys.executable, "-c", "import stale"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    (last,) = done.stderr.splitlines()[-1:]
    assert "PromiseError" in last
    assert f"{tmp_path / 'stale.py'}: stale-read has no promise that always holds" in last
