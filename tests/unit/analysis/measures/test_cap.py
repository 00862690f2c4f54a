"""Whether writes stayed available: by acks before a healing, or by who took over, and when not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.measures.cap import Availability, availability
from analysis.stored.stored_run import open_run
from tests.support.histories import Part, fault, ns_of, sent, story, view
from tests.support.story_runs import write_story

SESSION = {"zookeeper.session.timeout.ms": 2000, "replica.lag.time.max.ms": 1000}
THREE = ("kafka1", "kafka2", "kafka3")
OTHERS = ("kafka2", "kafka3")
LEADER_KILLED = fault("kill", ms=3000, for_ms=6000, healing_took=0)  # until 9 s
AVAILABLE = Availability(value=True, words="stayed available")


def gap(from_ms: float, to_ms: float | None, partition: int = 0) -> dict[str, Any]:
    """A window without acks, as Spark finds it; to_ms=None: until the load ended."""
    end_ns = ns_of(10_000 if to_ms is None else to_ms)
    return {
        "kind": "produce",
        "partition": partition,
        "start_ns": ns_of(from_ms),
        "end_ns": end_ns,
        "next_success_ns": None if to_ms is None else end_ns,
    }


def led(leader: str | None, ms: float, isr: tuple[str, ...] = THREE, partition: int = 0) -> Part:
    """Who leads from then on; the look before was 50 ms earlier."""
    part = view(leader, ms=ms, isr=isr, partition=partition, epoch=int(max(ms, 0)))
    return Part(table="views", rows=({**part.rows[0], "since_ns": ns_of(ms - 50)},), ms=ms)


def of(folder: Path, *parts: Part, **told: Any) -> Availability:
    """The same, without the lengths of gaps after which writes were available."""
    found = with_lengths(folder, *parts, **told)
    return AVAILABLE if found.value else found


def with_lengths(
    folder: Path, *parts: Part, gaps: Any, acks: str = "all", **record: Any
) -> Availability:
    """The availability of a run of these parts, kafka1 leading from the start on."""
    begin = [led("kafka1", -1000, partition=n) for n in range(record.get("partitions", 1))]
    said = {"server": SESSION, "acks": acks, **record}
    path = write_story(story(sent(1, at=0), *begin, *parts, **said), folder / "run", "told/1")
    return availability(open_run(path), gaps, acks)


def test_acks_before_the_healing_began_are_available(tmp_path: Path) -> None:
    assert of(tmp_path, LEADER_KILLED, gaps=[gap(3000, 6000)]) == AVAILABLE


@pytest.mark.parametrize(
    ("gaps", "words"),
    [
        ([], "stayed available"),
        ([gap(3000, 6000)], "available after a gap of 3.0 s"),
        ([gap(3000, 4500), gap(5000, 6000)], "available after gaps of up to 1.5 s"),
        ([gap(500, 2500)], "stayed available"),  # before any fault
    ],
)
def test_it_says_after_which_gaps(tmp_path: Path, gaps: Any, words: str) -> None:
    assert with_lengths(tmp_path, LEADER_KILLED, gaps=gaps).words == words


def test_acks_after_it_from_the_leader_that_came_back_are_not(tmp_path: Path) -> None:
    assert of(tmp_path, LEADER_KILLED, gaps=[gap(3000, 9200)]) == Availability(
        value=False, words="no write accepted until the leader came back"
    )


def test_acks_after_it_from_one_that_had_taken_over_are_available(tmp_path: Path) -> None:
    """The plan heals when the harness sees another leader; clients learn of it later."""
    moved = led("kafka2", 9020, OTHERS)  # elected between two looks, before 9 s

    assert of(tmp_path, LEADER_KILLED, moved, gaps=[gap(3000, 9200)]) == AVAILABLE


def test_one_that_took_over_after_the_healing_began_waited_for_it(tmp_path: Path) -> None:
    moved = led("kafka2", 9100, OTHERS)

    assert of(tmp_path, LEADER_KILLED, moved, gaps=[gap(3000, 9200)]) == Availability(
        value=False, words="no write accepted before the healing of the fault began"
    )


def test_without_a_gap_writes_were_available(tmp_path: Path) -> None:
    assert of(tmp_path, LEADER_KILLED, gaps=[]) == AVAILABLE


@pytest.mark.parametrize(
    ("gaps", "value"),
    [
        ([gap(3000, 9200)], False),
        ([gap(3000, 9200), gap(9500, 9900)], False),  # that one no fault caused
        ([gap(500, 2900)], True),
    ],
)
def test_only_a_gap_with_a_fault_in_force_counts(
    tmp_path: Path, gaps: list[dict[str, Any]], value: bool
) -> None:
    assert of(tmp_path, LEADER_KILLED, gaps=gaps).value is value


def test_the_last_gap_decides(tmp_path: Path) -> None:
    first = fault("kill", ms=1000, for_ms=3000, healing_took=0)
    second = fault("kill", ms=5000, for_ms=4000, healing_took=0, number=1)
    gaps = [gap(1000, 4100), gap(5000, 8000)]

    assert of(tmp_path / "a", first, second, gaps=gaps).value is True
    gaps = [gap(1000, 3000), gap(5000, 9100)]
    assert of(tmp_path / "b", first, second, gaps=gaps).value is False


def test_a_fault_healed_before_a_failover_can_end_proves_nothing(tmp_path: Path) -> None:
    """By the brokers' session, whatever the seconds are."""
    short = fault("pause", ms=3000, for_ms=1900, healing_took=0)

    told = of(tmp_path / "a", short, gaps=[gap(3000, 4910)])
    assert told == Availability(
        value=None, words="the fault's healing began after 1.9 s, before a failover can end (2 s)"
    )
    server = {**SESSION, "zookeeper.session.timeout.ms": 1900}
    assert of(tmp_path / "b", short, gaps=[gap(3000, 4910)], server=server).value is False
    unset = of(tmp_path / "c", LEADER_KILLED, gaps=[gap(3000, 9200)], server={})
    assert unset.words.endswith("(18 s)")  # Kafka's default


@pytest.mark.parametrize(
    ("verb", "acks", "value"),
    [("cut", "all", None), ("cut", "1", False), ("kill", "all", False)],
)
def test_where_links_are_cut_acks_all_waits_for_the_isr_to_shrink(
    tmp_path: Path, verb: str, acks: str, value: bool | None
) -> None:
    slow = {**SESSION, "replica.lag.time.max.ms": 5000}  # 1.5 times is 7.5 s
    struck = fault(verb, ms=3000, for_ms=6000, healing_took=0)

    assert of(tmp_path, struck, gaps=[gap(3000, 9200)], acks=acks, server=slow).value is value


@pytest.mark.parametrize(
    ("isr", "min_isr", "value"),
    [(("kafka1",), 1, True), (("kafka1",), 2, False), (("kafka1", "kafka2"), 1, False)],
)
def test_a_leader_that_no_fault_hit_can_refuse_until_the_followers_are_back(
    tmp_path: Path, isr: tuple[str, ...], min_isr: int, value: bool
) -> None:
    """kafka1 leads throughout; the ISR must be large enough, without who does not answer."""
    paused = fault("pause", "followers", ms=3000, for_ms=6000, nodes=OTHERS, healing_took=0)
    topic = {"min.insync.replicas": str(min_isr)}

    told = of(tmp_path, paused, led("kafka1", 8000, isr), gaps=[gap(3000, 9200)], topic=topic)

    assert told.value is value


@pytest.mark.parametrize(("verb", "value"), [("elect", True), ("pause", False)])
def test_nobody_waits_for_a_healing_that_undoes_nothing(
    tmp_path: Path, verb: str, value: bool
) -> None:
    """kafka1 is down until 9 s; what began at 5.3 s hit all, and began to be healed at 5.4 s."""
    second = fault(verb, "all", ms=5300, for_ms=100, nodes=THREE, healing_took=0, number=1)
    moved = led("kafka2", 5350, ("kafka2",))

    told = of(tmp_path, LEADER_KILLED, second, moved, gaps=[gap(3000, 6000)])

    assert told.value is value


@pytest.mark.parametrize(("acks", "value"), [("1", True), ("all", False)])
def test_acks_1_waits_for_no_follower(tmp_path: Path, acks: str, value: bool) -> None:
    paused = fault("pause", "followers", ms=3000, for_ms=6000, nodes=OTHERS, healing_took=0)

    assert of(tmp_path, paused, gaps=[gap(3000, 9200)], acks=acks).value is value


def test_of_two_faults_the_first_healing_after_a_failover_s_time_decides(tmp_path: Path) -> None:
    """The quorum is lost, then the leader dies: nobody can be elected before the quorum is back."""
    zk = ("zk2", "zk3")
    quorum = fault("kill", "zk-majority", ms=1000, for_ms=6000, nodes=zk, healing_took=0)
    killed = fault("kill", ms=3000, for_ms=6000, number=1, healing_took=0)
    moved = led("kafka2", 8000, OTHERS)

    waited = of(tmp_path / "a", quorum, killed, moved, gaps=[gap(3000, 8500)])
    assert waited.value is False
    assert waited.words == "no write accepted before the healing of the faults began"
    assert of(tmp_path / "b", killed, moved, gaps=[gap(3000, 8500)]).value is True


def test_who_was_paused_for_less_than_a_failover_may_take_over(tmp_path: Path) -> None:
    paused = fault("pause", "followers", ms=2900, for_ms=1000, nodes=OTHERS, healing_took=0)
    killed = fault("kill", ms=3000, for_ms=6000, number=1, healing_took=0)
    moved = led("kafka2", 8000, OTHERS)

    assert of(tmp_path / "a", paused, killed, moved, gaps=[gap(3000, 8500)]) == AVAILABLE
    same_leader = fault("pause", ms=2900, for_ms=1000, healing_took=0)
    beside = fault("kill", "zk-one", ms=1000, for_ms=8000, nodes=("zk1",), number=1)
    told = of(tmp_path / "b", same_leader, beside, gaps=[gap(2950, 3950)])
    assert told.value is None  # it may have waited for its healing


def test_a_restarted_broker_came_back_by_its_healing(tmp_path: Path) -> None:
    """Twin of the pause: who was killed cannot take over by itself."""
    killed = fault("kill", "followers", ms=2900, for_ms=1000, nodes=OTHERS, healing_took=0)
    leader = fault("kill", ms=3000, for_ms=6000, number=1, healing_took=0)

    told = of(tmp_path, killed, leader, led("kafka2", 8000, OTHERS), gaps=[gap(3000, 8500)])

    assert told.value is None


@pytest.mark.parametrize(("begun_ms", "value"), [(3000, False), (8500, None)])
def test_writes_that_never_came_back_were_not_available(
    tmp_path: Path, begun_ms: float, value: bool | None
) -> None:
    """If the load went on for longer than a failover takes."""
    killed = fault("kill", ms=begun_ms, for_ms=9000, healing_took=0)

    told = of(tmp_path, killed, gaps=[gap(begun_ms, None)])

    assert told.value is value
    if value is False:
        assert told.words == "no write accepted until the load ended"
    else:
        assert told.words.startswith("the load ended after 1.5 s")


def test_every_partition_must_be_available(tmp_path: Path) -> None:
    gaps = [gap(3000, 9200), gap(3000, 6000, partition=1)]

    told = of(tmp_path / "a", LEADER_KILLED, gaps=gaps, partitions=2)

    assert told == Availability(
        value=False, words="no write accepted in 1 of 2 partitions until the leader came back"
    )
    assert of(tmp_path / "b", LEADER_KILLED, gaps=gaps[1:], partitions=2) == AVAILABLE


@pytest.mark.parametrize(
    "harmless",
    [
        [],
        [fault("kill", "producer", ms=3000, for_ms=6000, nodes=("producer-0",))],
        [fault("dump-log", "all", ms=3000, for_ms=6000, nodes=THREE)],
        [fault("kill", "last-isr", ms=3000, for_ms=6000, nodes=())],
    ],
    ids=["none", "clients only", "only observing", "hit nobody"],
)
def test_without_a_fault_at_the_cluster_nothing_was_tested(
    tmp_path: Path, harmless: list[Part]
) -> None:
    told = of(tmp_path, *harmless, gaps=[gap(3000, 9200)])

    assert told == Availability(value=None)


def test_what_only_observes_heals_nothing(tmp_path: Path) -> None:
    dump = fault("dump-log", "all", ms=3100, for_ms=2500, nodes=THREE, number=1, healing_took=0)

    assert of(tmp_path, LEADER_KILLED, dump, gaps=[gap(3000, 6000)]) == AVAILABLE


def test_with_acks_0_nobody_knows_when_writes_stopped(tmp_path: Path) -> None:
    told = of(tmp_path, LEADER_KILLED, gaps=[], acks="0")

    assert told.value is None
    assert "acks=0" in told.words


# KRaft


def controlled(part: Part, by: str) -> Part:
    """A view with that controller."""
    return replace(part, rows=tuple({**row, "controller": by} for row in part.rows))


def beside_controllers(
    folder: Path, *parts: Part, gaps: Any, topic: Any = None, **settings: Any
) -> Availability:
    """The same of a run without ZooKeeper; `settings`: the controllers'."""
    begin = controlled(led("kafka1", -1000), "controller1")
    said = {"server": SESSION, "acks": "all", "topic": topic or {}}
    path = write_story(story(sent(1, at=0), begin, *parts, **said), folder / "run", "told/1")
    run = open_run(path)
    cluster = {**run.scenario["cluster"], "kafka": "4.4.0", "metadata": "kraft"}
    node_settings = {**run.node_settings, "controller": settings}
    record = {
        **run.record,
        "scenario": {**run.scenario, "cluster": cluster},
        "node_settings": node_settings,
    }
    return availability(replace(run, record=record), gaps, "all")


def test_with_kraft_the_session_is_one_with_the_controller(tmp_path: Path) -> None:
    """Nine seconds by default, whatever ZooKeeper's would be."""
    gaps = [gap(3000, 9100)]

    told = beside_controllers(tmp_path / "a", LEADER_KILLED, gaps=gaps)
    assert told.value is None
    assert told.words.endswith("after 6.0 s, before a failover can end (9 s)")
    short = {"broker.session.timeout.ms": "2000"}
    assert beside_controllers(tmp_path / "b", LEADER_KILLED, gaps=gaps, **short).value is False


def test_where_the_controller_was_hit_as_well_another_one_comes_first(tmp_path: Path) -> None:
    """And begins the session anew."""
    short = {"broker.session.timeout.ms": "4000"}
    controls = controlled(led("kafka1", 0), "kafka1")

    told = beside_controllers(
        tmp_path / "a", controls, LEADER_KILLED, gaps=[gap(3000, 9100)], **short
    )
    assert told.words.endswith("before a failover can end (7 s)")
    alone = beside_controllers(tmp_path / "b", LEADER_KILLED, gaps=[gap(3000, 9100)], **short)
    assert alone.value is False


def test_the_isr_must_be_as_large_as_the_controllers_ask(tmp_path: Path) -> None:
    """Their own min.insync.replicas is the cluster's where eligible leaders are remembered."""
    moved = led("kafka2", 9020, ("kafka2",))
    short = {"broker.session.timeout.ms": "2000"}
    gaps = [gap(3000, 9200)]

    alone = beside_controllers(tmp_path / "a", LEADER_KILLED, moved, gaps=gaps, **short)
    assert alone.value is True
    asks = {**short, "min.insync.replicas": "2"}
    assert (
        beside_controllers(tmp_path / "b", LEADER_KILLED, moved, gaps=gaps, **asks).value is False
    )
