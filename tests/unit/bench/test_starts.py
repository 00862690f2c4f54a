"""What `make bench-backends` says of KRaft's starts: ratios of the same round, against bars."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import starts
from bench.starts import BARS, KINDS, ZOOKEEPER, Bar, Kind, Start
from harness.host.java import Java

BAR = Bar(of="kraft", beside="zookeeper", most=1.7)


def a_round(kraft_s: float, zookeeper_s: float) -> dict[str, Start]:
    return {"kraft": {"start": kraft_s}, "zookeeper": {"start": zookeeper_s}}


@pytest.mark.parametrize(("last_s", "ratio", "met"), [(17.0, "1.70", True), (17.1, "1.71", False)])
def test_a_bar_is_on_the_median_of_the_rounds_own_ratios(
    last_s: float, ratio: str, met: bool
) -> None:
    """The machine was four times as slow in the second round."""
    rounds = [a_round(15.0, 10.0), a_round(80.0, 40.0), a_round(last_s, 10.0)]

    sentence = f"start of kraft ≤ 1.7 x zookeeper: {ratio} (1.50–2.00), n = 3"
    assert BAR.told(rounds, "start") == (sentence, met)


def test_a_round_in_which_one_of_them_did_not_start_is_no_pair() -> None:
    told = BAR.told([a_round(15.0, 10.0), {"kraft": {"start": 1.0}}, {}], "start")

    assert told is not None
    assert told[0].endswith("1.50 (1.50–1.50), n = 1")
    assert BAR.told([{}], "start") is None


def test_each_bar_is_of_kinds_that_are_started_beside_each_other() -> None:
    names = {kind.name for kind in KINDS}

    assert {each for bar in BARS for each in (bar.of, bar.beside)} == names
    assert [bar.most for bar in BARS] == [1.7, 1.7, 1.1, 1.1, 0.65, 0.65]
    assert ZOOKEEPER.cluster.has_zookeeper


def test_without_its_archive_a_node_has_javas_own_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    java = Java(path=Path("/java/bin/java"), version="17.0.15", build="17.0.15+6")
    monkeypatch.setattr(starts, "find_java", lambda: java)

    assert Kind(name="with", metadata="kraft").runs().way == ()
    assert Kind(name="without", metadata="kraft", archived=False).runs().way == (
        "env",
        "_JAVA_OPTIONS=-XX:SharedArchiveFile=/java/lib/server/classes.jsa",
    )
