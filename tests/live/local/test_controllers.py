"""KRaft's controllers on a real cluster: what is done to them bites, and heals.

What else is done to them as to brokers (power, full and slow disks) is in docs/faults.md, tried by
`make nemesis-table`.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.commands import Ran, assert_valid, carried_out, faults_by_name
from tests.support.needs import needs

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]

BITES = {  # in the order of controllers.toml
    "remove-controller": r"controller\d votes no more; voters: controller\d, controller\d",
    "lose-disk": r"process \d+ of controller1 is gone; \d+ files of [\d,]+ bytes were removed",
    "add-controller": r"controller1 votes; voters: controller1, controller2, controller3",
    "fail-disk": r"\d+ writes of controller\d to its segments failed with EIO; .* is gone",
    "roll": r"restarted one by one, every ISR full before the next: (controller\d .*){3}",
}
HEALS = {
    "remove-controller": r"controller\d votes; voters: controller1, controller2, controller3",
    "add-controller": "controller1 stays what it is to the quorum",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    needs("strace")
    return carried_out("controllers.toml", tmp_path_factory.mktemp("controllers"))


@pytest.fixture(scope="module")
def faults(run: Ran) -> dict[str, dict[str, Any]]:
    return faults_by_name(run, tuple(BITES))


def test_no_acknowledged_record_is_lost(run: Ran) -> None:
    assert_valid(run)


@pytest.mark.parametrize("verb", BITES)
def test_it_bites(faults: dict[str, dict[str, Any]], verb: str) -> None:
    assert re.fullmatch(BITES[verb], faults[verb]["evidence"])


@pytest.mark.parametrize("verb", BITES)
def test_it_heals(faults: dict[str, dict[str, Any]], verb: str) -> None:
    healed = faults[verb]["heal_evidence"]

    assert re.search(HEALS.get(verb, r"process \d+ of controller\d serves"), healed)
    assert "every ISR has 3 members" in healed
