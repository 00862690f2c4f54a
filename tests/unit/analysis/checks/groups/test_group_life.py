"""Owners of partitions, and transactions that hang: against a second opinion, on random lives."""

from __future__ import annotations

from collections import Counter
from typing import Any

from analysis.checks.groups.group_life import shared_rows, unowned_rows
from analysis.stored.transactions.hanging import hanging
from tests.support.oracles import lives
from tests.support.random_histories.drawing import HISTORIES, SEEDS
from tests.support.random_histories.lives import MS, group_of, transactions_of


def ms(time_ns: int | None) -> int | None:
    return None if time_ns is None else time_ns // MS


def found_of_owners(run: Any) -> Counter[Any]:
    """What the checks are given, in the oracle's words."""
    together = (
        ("two-owners", (row["partition"], row["owners"], ms(row["from_ns"]), ms(row["until_ns"])))
        for row in shared_rows(run)
    )
    nobodys = (
        ("unowned-partition", (row["partition"], ms(row["from_ns"]), ms(row["until_ns"])))
        for row in unowned_rows(run)
    )
    return Counter([*together, *nobodys])


def test_owners_are_those_that_a_second_opinion_says() -> None:
    shown = Counter[str]()
    for seed in SEEDS:
        run = group_of(seed)
        wanted = Counter(lives.owners(run))
        shown.update({name for name, _ in wanted})
        assert found_of_owners(run) == wanted, (seed, sorted(run.events, key=str), run)
    assert min(shown["two-owners"], shown["unowned-partition"]) > HISTORIES // 20, shown


def test_transactions_hang_where_a_second_opinion_says_so() -> None:
    shown = 0
    for seed in SEEDS:
        run = transactions_of(seed)
        wanted = Counter(lives.hanging(run))
        shown += bool(wanted)
        found = Counter(
            ("hanging-transaction", (row["partition"], row["offset"], ms(row["time_ns"])))
            for row in hanging(run)
        )
        assert found == wanted, (seed, run)
    assert shown > HISTORIES // 20
