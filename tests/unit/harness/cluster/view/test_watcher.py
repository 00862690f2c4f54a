"""The watcher writes changes down, with the last look that showed the older state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from harness.cluster.view.state import Blind, ClusterView, PartitionState, View
from harness.cluster.view.watcher import Watcher

ONE = View(
    partitions=(PartitionState(leader="kafka1", isr=("kafka1", "kafka2"), leader_epoch=0),),
    controller="kafka3",
)
TWO = View(
    partitions=(PartitionState(leader="kafka2", isr=("kafka2",), leader_epoch=1),),
    controller="kafka3",
)


class Told:
    """A view that tells what it was given, and does not answer where that is None."""

    def __init__(self, *answers: View | None) -> None:
        self._answers = list(answers)

    def look(self) -> View:
        answer = self._answers.pop(0)
        if answer is None:
            raise Blind
        return answer


def written_after(*answers: View | None) -> list[dict[str, Any]]:
    return written_of(Told(*answers), len(answers))


def written_of(view: Told, looks: int) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []

    def write(event: str, **fields: Any) -> None:
        lines.append({"event": event, **fields})

    watcher = Watcher(cast(ClusterView, view), write)
    for _ in range(looks):
        watcher._look()
    return lines


class TakenBack(Told):
    """One whose committed metadata went back with the second look, of these partitions."""

    topic = "t"

    def __init__(self, *partitions: tuple[str, int]) -> None:
        super().__init__(ONE, ONE, ONE)
        self._gone = [number for topic, number in partitions if topic == self.topic]

    def went_back(self) -> list[int]:
        return [] if len(self._answers) > 1 else self._gone


def test_metadata_that_went_back_are_told_once_though_the_state_is_the_same() -> None:
    first, back = written_of(TakenBack(("t", 0)), 3)

    assert "went_back" not in first
    assert (back["leader"], back["went_back"]) == ("kafka1", True)
    assert len(written_of(TakenBack(("others", 0)), 3)) == 1


def test_a_change_is_written_once_with_the_look_before_it() -> None:
    first, second = written_after(ONE, ONE, TWO, TWO)

    assert (first["leader"], first["since_ns"]) == ("kafka1", None)
    assert second["leader"] == "kafka2"
    assert isinstance(second["since_ns"], int)


def test_a_look_that_nobody_answered_shows_no_state() -> None:
    """The change may have come at any time since the last answer."""
    before = written_after(ONE, TWO)
    blind = written_after(ONE, None, None, TWO)

    assert [line["event"] for line in blind] == ["view", "blind", "blind", "view"]
    assert blind[-1]["since_ns"] is not None
    assert before[-1]["isr"] == blind[-1]["isr"] == ["kafka2"]


def test_elr_and_partition_epoch_are_written_where_they_are_told() -> None:
    """An empty ISR and an empty ELR are a state; ZooKeeper's lines have neither column."""
    (plain,) = written_after(ONE)
    assert {"elr", "partition_epoch"}.isdisjoint(plain)

    gone = PartitionState(leader=None, isr=(), leader_epoch=3, elr=("kafka1",), partition_epoch=7)
    cleared = replace(gone, elr=(), partition_epoch=8)
    lines = written_after(*(replace(ONE, partitions=(state,)) for state in (gone, cleared)))

    assert [(line["isr"], line["elr"], line["partition_epoch"]) for line in lines] == [
        ([], ["kafka1"], 7),
        ([], [], 8),
    ]


def test_an_empty_elr_is_told_by_whoever_tells_no_partition_epoch() -> None:
    state = PartitionState(leader="kafka1", isr=("kafka1",), leader_epoch=3, elr=())
    (line,) = written_after(replace(ONE, partitions=(state,)))

    assert (line["elr"], "partition_epoch" in line) == ([], False)
