"""Every anomaly has random histories that show it, and a second opinion that says so.

The histories are those that the checks are compared on in each test run. An anomaly that one in a
hundred of a family's shows is looked for there; one that hardly any shows is not. A new anomaly
needs a family: an oracle of tests/support/oracles, histories of tests/support/random_histories, and
a test that compares the two with the checks, as those named below do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from hypothesis import strategies as st

from analysis.anomalies import NAMES
from tests.support.oracles import lives
from tests.support.oracles.backwards import backwards
from tests.support.oracles.cycles import cycles
from tests.support.oracles.operations import OUTCOMES, Case, oracle
from tests.support.oracles.programs import outputs
from tests.support.random_histories.any_rows import chaos
from tests.support.random_histories.drawing import SEEDS, drawn
from tests.support.random_histories.lives import group_of, transactions_of
from tests.support.random_histories.looks import looked
from tests.support.random_histories.plants import planted
from tests.support.random_histories.programs import answered
from tests.support.random_histories.transformed import transformed
from tests.support.random_histories.transformers import flow_of

# Why one has no histories.
WITHOUT: Mapping[str, str] = {
    "metadata-back": "a view says it or not: random quorums are test_commit_against_raft.py's, and "
    "what permits it is test_permission_oracle.py's",
}


def families() -> Iterator[tuple[str, list[set[str]]]]:
    """Each family's histories: the test that compares them, and what the oracle sees in each."""
    sorts: list[Callable[[], st.SearchStrategy[Case]]] = [chaos, planted, transformed]
    for sort in sorts:  # test_oracle.py
        cases = drawn(sort)
        yield "operations", [{OUTCOMES.get(each, each) for each in oracle(case)} for case in cases]
    # test_programs_oracle.py
    yield "outputs", [{name for name, _ in outputs(case)} for case in drawn(answered)]
    # test_backwards_oracle.py
    yield "looks", [{name for name, _ in backwards(case)} for case in drawn(looked)]
    # stored/test_circles.py and stored/test_group_life.py
    yield "transactions", [{name for name, _ in cycles(flow_of(seed))} for seed in SEEDS]
    yield "owners", [{name for name, _ in lives.owners(group_of(seed))} for seed in SEEDS]
    yield "ends", [{name for name, _ in lives.hanging(transactions_of(seed))} for seed in SEEDS]


def test_every_anomaly_is_seen_in_one_of_a_hundred_histories() -> None:
    """And in as many it is not: what is always found may as well be found by chance."""
    share = dict[str, float]()
    for _, seen in families():
        for name in NAMES:
            here = sum(name in each for each in seen) / len(seen)
            share[name] = max(share.get(name, 0.0), min(here, 1 - here))

    rare = {name: part for name, part in share.items() if part < 0.01}
    assert rare.keys() == WITHOUT.keys(), rare
