"""KRaft's controllers on real clusters: what is done to them bites, and heals."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.commands import Ran, assert_valid, carried_out, faults_by_name
from tests.support.needs import needs

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark")]

# In the order of the files.
FILES = {
    "controllers.toml": (
        "remove-controller",
        "lose-disk",
        "add-controller",
        "fill-disk",
        "lose-power",
        "roll",
    ),
    "controllers_writes.toml": ("slow-disk", "fail-disk"),
}
BITES = {
    "remove-controller": r"controller\d votes no more; voters: controller\d, controller\d",
    "lose-disk": r"process \d+ of controller1 is gone; \d+ files of [\d,]+ bytes were removed",
    "add-controller": r"controller1 votes; voters: controller1, controller2, controller3",
    "fill-disk": r"controller\d reported «No space left on device»; process \d+ of .* is gone",
    "lose-power": r"process \d+ of controller\d is gone; of [\d,]+ bytes in its segments .*",
    "roll": r"restarted one by one, every ISR full before the next: (controller\d .*){3}",
    "slow-disk": r"\d+ writes of controller\d to its segments waited 50 ms: .*",
    "fail-disk": r"\d+ writes of controller\d to its segments failed with EIO; .* is gone",
}
HEALS = {
    "remove-controller": r"controller\d votes; voters: controller1, controller2, controller3",
    "add-controller": "controller1 stays what it is to the quorum",
    "slow-disk": "strace is detached",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    needs("strace")
    return {file: carried_out(file, tmp_path_factory.mktemp("controllers")) for file in FILES}


@pytest.fixture(scope="module")
def faults(runs: dict[str, Ran]) -> dict[str, dict[str, Any]]:
    found = dict[str, dict[str, Any]]()
    for file, verbs in FILES.items():
        found |= faults_by_name(runs[file], verbs)
    return found


@pytest.mark.parametrize("file", FILES)
def test_no_acknowledged_record_is_lost(runs: dict[str, Ran], file: str) -> None:
    assert_valid(runs[file])


@pytest.mark.parametrize("verb", BITES)
def test_it_bites(faults: dict[str, dict[str, Any]], verb: str) -> None:
    assert re.fullmatch(BITES[verb], faults[verb]["evidence"])


@pytest.mark.parametrize("verb", BITES)
def test_it_heals(faults: dict[str, dict[str, Any]], verb: str) -> None:
    healed = faults[verb]["heal_evidence"]

    assert re.search(HEALS.get(verb, r"process \d+ of controller\d serves"), healed)
    assert "every ISR has 3 members" in healed
