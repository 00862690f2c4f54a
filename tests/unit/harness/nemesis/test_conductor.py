"""The conductor: every fault begun is healed, unproved faults are said to be, the load is held."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import ClusterError, Node
from harness.cluster.view.state import PartitionState, View
from harness.model.plan import Step
from harness.nemesis.conducting.waits import Limits
from harness.nemesis.conductor import Conductor
from harness.nemesis.undo_record import Undo, outstanding
from harness.nemesis.verb import DoesNothing
from harness.nemesis.verbs import VERBS, Verb
from harness.waiting import WaitTimeout, wait_until

NODES = local_nodes(3, 3)
SHORT = Limits(bite_s=0.05, heal_s=0.05, target_s=0.05, trigger_s=0.3)


@dataclass
class Told:
    """A cluster that does as it is told, and a load that stands where it is put."""

    nodes: tuple[Node, ...] = NODES
    leader: str = "kafka1"
    isr: tuple[str, ...] = ("kafka1", "kafka2", "kafka3")
    down: set[str] = field(default_factory=set)
    sent: int = 0
    held: list[int | None] = field(default_factory=list)
    groups: list[list[str]] = field(default_factory=list)
    bites: bool = True
    breaks: bool = False
    returns: bool = True
    lines: list[dict[str, Any]] = field(default_factory=list)
    limits: Limits = SHORT

    def look(self) -> View:
        state = PartitionState(leader=self.leader, isr=self.isr, leader_epoch=0)
        return View(partitions=(state,), controller="kafka2")

    look_or_last = look

    def live_brokers(self) -> tuple[str, ...]:
        return tuple(n.name for n in NODES if n.role == "broker" and n.name not in self.down)

    def recovered(self, replicas: int) -> str | None:
        return None if self.down else f"every ISR has {replicas} members"

    def acks(self) -> int:
        return self.sent

    rounds = acks

    def hold_after(self, rounds: int | None) -> None:
        self.held.append(rounds)

    def write(self, event: str, **fields: Any) -> None:
        self.lines.append({"event": event, **fields})

    def told(self, event: str, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if (line["event"], line["type"]) == (event, kind)]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Told:
    told = Told()

    def inject(injection: Any) -> None:
        if told.breaks:
            raise ClusterError("no such process")
        told.down |= {node.name for node in injection.nodes}
        told.groups.append([node.name for node in injection.nodes])
        told.leader = "kafka3"

    def heal(injection: Any) -> None:
        if told.returns:
            told.down -= {node.name for node in injection.nodes}

    verb = Verb(
        name="fell",
        undo="raise",
        needs=(),
        inject=inject,
        heal=heal,
        bit=lambda i: "fallen" if told.bites and i.node.name in told.down else None,
        healed=lambda i: None if i.node.name in told.down else "risen",
    )
    monkeypatch.setitem(VERBS, "fell", verb)
    monkeypatch.setitem(VERBS, "fell-alone", replace(verb, holds="process"))
    monkeypatch.setitem(VERBS, "fell-together", replace(verb, together=True))
    return told


def step(number: int = 0, **changes: Any) -> Step:
    defaults: dict[str, Any] = {
        "step": number,
        "series": 0,
        "verb": "fell",
        "target": "leader",
        "unit": "rounds",
        "at": 10.0,
        "for_s": 0.0,
        "until": None,
        "options": {},
        "seed": 1,
    }
    return Step(**{**defaults, **changes})


def conductor(world: Told, *steps: Step, undo: Undo | None = None) -> Conductor:
    made = Conductor(
        steps=steps,
        cluster=world,
        view=world,
        load=world,
        replicas=3,  # type: ignore[arg-type]
        write=world.write,
        tell=lambda line: None,
        undo=undo,
        limits=world.limits,
    )
    made.start(0)
    return made


def finish(made: Conductor) -> None:
    wait_until(made.done, timeout_s=10, what="the plan to end")


def test_a_fault_is_injected_proved_healed_and_proved_again(world):
    world.sent = 11
    made = conductor(world, step())
    finish(made)

    assert [(line["event"], line["type"]) for line in world.lines] == [
        ("inject", "invoke"),
        ("inject", "ok"),
        ("heal", "invoke"),
        ("heal", "ok"),
    ]
    assert world.told("inject", "invoke")[0]["nodes"] == ["kafka1"]
    assert world.told("inject", "ok")[0]["evidence"] == "fallen"
    assert world.told("heal", "ok")[0]["evidence"] == "risen; every ISR has 3 members"
    assert made.failure is None


def test_a_step_counted_in_rounds_waits_until_the_load_is_past_it(world):
    world.sent = 10
    made = conductor(world, step())
    assert not made.done()
    world.sent = 11
    finish(made)

    assert world.told("inject", "ok")


def test_the_load_is_held_at_the_next_step_until_the_one_before_is_healed(world):
    world.sent = 31
    finish(conductor(world, step(0), step(1, at=20.0), step(2, at=30.0)))

    assert world.held == [20, 30, None, None, None]


def test_a_fault_without_evidence_is_healed_and_never_called_ok(world):
    world.sent, world.bites = 11, False
    finish(conductor(world, step()))

    assert not world.told("inject", "ok")
    assert "waited" in world.told("inject", "info")[0]["error"]
    assert not world.down


def busy(name: str) -> Any:
    """Of a verb that does something to one node only."""
    return lambda roles, hit: None if name in hit else f"{', '.join(sorted(hit))} has nothing to do"


def test_a_node_to_which_the_verb_would_do_nothing_is_no_target(world, monkeypatch):
    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], idle=busy("kafka2")))
    world.sent = 11
    finish(conductor(world, step(target="leader")))

    assert "kafka1 has nothing to do" in world.told("inject", "info")[0]["error"]
    assert not world.told("inject", "invoke")


@pytest.mark.parametrize("target", ["one", "follower", "minority"])
def test_lots_are_drawn_among_those_to_whom_the_verb_does_something(world, monkeypatch, target):
    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], idle=busy("kafka3")))
    world.sent = 11
    for seed in range(5):
        world.leader, world.down = "kafka1", set()
        finish(conductor(world, step(target=target, seed=seed)))

    assert world.groups == [["kafka3"]] * 5


def test_a_fault_that_is_seen_to_do_nothing_is_not_waited_for(world, monkeypatch):
    def bit(_: Any) -> str:
        raise DoesNothing("2000 kbit/s limits nothing")

    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], bit=bit))
    world.limits = replace(world.limits, bite_s=60.0)
    world.sent = 11
    made = conductor(world, step())
    finish(made)

    assert world.told("inject", "info")[0]["error"] == "2000 kbit/s limits nothing"
    assert world.told("heal", "ok")
    assert made.failure is None


def test_a_fault_that_nobody_can_take_is_recorded_as_not_happened(world):
    world.sent, world.leader = 11, None  # type: ignore[assignment]
    finish(conductor(world, step()))

    assert world.told("inject", "info")[0]["nodes"] == []
    assert not world.told("inject", "invoke")


def test_a_verb_that_breaks_is_healed_and_ends_the_run(world):
    world.sent, world.breaks = 11, True
    made = conductor(world, step(), step(1, at=11.0))
    finish(made)

    assert "no such process" in str(made.failure)
    assert world.told("heal", "invoke")


def test_a_node_that_does_not_come_back_ends_the_run_naming_it(world):
    world.sent, world.returns = 11, False
    made = conductor(world, step())
    finish(made)

    assert "kafka1 to be back" in str(made.failure)
    assert world.told("heal", "info")


def test_stopping_heals_what_is_in_force_and_begins_nothing_new(world):
    world.sent = 11
    made = conductor(world, step(for_s=1000.0), step(1, at=11.0))
    wait_until(lambda: world.told("inject", "ok"), timeout_s=10, what="the fault to be in force")
    made.stop()

    assert not world.down
    assert len(world.told("inject", "invoke")) == 1
    assert made.failure is None


def test_a_fault_may_last_until_leadership_moved(world):
    world.sent = 11
    finish(conductor(world, step(until="leader-moved")))

    assert world.told("heal", "ok")


def test_series_overlap(world):
    world.sent = 100
    made = conductor(
        world, step(0, target="kafka1", for_s=1000.0), step(1, series=1, target="kafka2")
    )
    wait_until(lambda: "kafka2" in str(world.told("inject", "ok")), timeout_s=10, what="the second")
    made.stop()

    assert not world.down


def test_a_trigger_is_awaited_and_the_step_counts_from_there(world):
    world.sent = 1000
    made = conductor(world, step(when="isr-alone", unit="acks", at=5.0))
    assert not made.done()
    world.isr = ("kafka1",)

    def sending() -> bool:
        world.sent += 1
        return made.done()

    wait_until(sending, timeout_s=10, what="the step to come")

    assert 1006 < world.sent
    assert world.told("inject", "ok")


def test_a_trigger_that_never_comes_is_a_fault_that_did_not_happen(world):
    finish(conductor(world, step(when="isr-alone", unit="seconds", at=0.0)))

    assert "alone in its ISR" in world.told("inject", "info")[0]["error"]
    assert not world.told("inject", "invoke")


def test_healed_waits_for_every_step_of_the_entry_before(world):
    world.sent = 31
    last = step(2, series=1, when="healed", unit="seconds", at=0.0, target="kafka2")
    finish(conductor(world, step(0), step(1, at=30.0), last))
    order = [(line["event"], line["fault"]) for line in world.lines if line["type"] == "ok"]

    assert order == [(event, n) for n in range(3) for event in ("inject", "heal")]


def test_two_faults_that_hold_the_same_of_a_node_are_never_in_force_together(world):
    world.sent = 11
    first = step(0, verb="fell-alone", target="kafka1", for_s=0.5)
    finish(conductor(world, first, step(1, series=1, verb="fell-alone", target="kafka1")))

    assert "holds the process of kafka1" in world.told("inject", "info")[0]["error"]
    assert len(world.told("heal", "ok")) == 1


def test_a_verb_takes_its_nodes_one_by_one_or_together(world):
    world.sent = 11
    finish(conductor(world, step(target="all")))
    finish(conductor(world, step(verb="fell-together", target="all")))

    assert world.groups == [["kafka1"], ["kafka2"], ["kafka3"], ["kafka1", "kafka2", "kafka3"]]
    assert world.told("inject", "ok")[1]["nodes"] == ["kafka1", "kafka2", "kafka3"]


def test_who_was_hit_is_told_with_the_role_it_played(world):
    world.sent = 11
    finish(conductor(world, step(target="all")))

    assert world.told("inject", "invoke")[0]["roles"] == {
        "kafka1": ["leader"],
        "kafka2": ["follower", "controller"],
        "kafka3": ["follower"],
    }


def test_what_must_be_undone_is_on_disk_before_it_is_done(world, tmp_path, monkeypatch):
    seen = []
    inject = VERBS["fell"].inject

    def look(injection: Any) -> None:
        seen.append([line["nodes"] for line in outstanding(tmp_path)])
        inject(injection)

    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], inject=look))
    world.sent = 11
    finish(conductor(world, step(), undo=Undo(tmp_path)))

    assert seen == [[["kafka1"]]]
    assert outstanding(tmp_path) == []


def test_a_fault_that_cannot_be_healed_stays_on_the_undo_record(world, tmp_path):
    world.sent, world.returns = 11, False
    finish(conductor(world, step(), undo=Undo(tmp_path)))

    assert [line["fault"] for line in outstanding(tmp_path)] == [0]


def test_reassignments_wait_for_each_other(world, monkeypatch):
    """Whatever they hit: there is one assignment."""
    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], alone=True))
    world.sent = 100
    made = conductor(
        world, step(0, target="kafka1", for_s=1000.0), step(1, series=1, target="kafka2")
    )
    wait_until(lambda: world.told("inject", "info"), timeout_s=10, what="the second to give up")
    made.stop()

    assert "holds the assignment" in world.told("inject", "info")[0]["error"]


def test_a_verb_acts_again_and_again_while_it_is_in_force(world, monkeypatch):
    acted: list[str] = []
    verb = replace(VERBS["fell"], during=lambda injection: acted.append(injection.node.name))
    monkeypatch.setitem(VERBS, "fell", verb)
    world.sent = 11
    finish(conductor(world, step(for_s=0.1)))

    assert len(acted) > 2


def test_a_mistake_of_ours_ends_the_run_and_heals(world, monkeypatch):
    def bit(_: Any) -> str:
        raise ZeroDivisionError("oops")

    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], bit=bit))
    world.sent = 11
    made = conductor(world, step())
    finish(made)

    assert "oops" in str(made.failure)
    assert not world.down


def test_a_chain_of_faults_may_take_longer_than_a_trigger_may(world):
    """What waits for "healed" counts its patience from when those before are over."""
    world.limits = replace(world.limits, trigger_s=0.2)
    world.sent = 11
    finish(
        conductor(
            world, step(0, for_s=0.5), step(1, series=1, when="healed", unit="seconds", at=0.0)
        )
    )

    assert len(world.told("inject", "ok")) == 2


def test_a_fault_may_wait_until_the_one_before_is_in_force(world):
    """Not until it is healed: the two overlap."""
    world.limits = replace(world.limits, heal_s=5.0)
    world.sent = 11
    second = step(1, series=1, when="in-force", unit="seconds", at=0.0, target="kafka3")
    made = conductor(world, step(for_s=0.5), second)
    finish(made)

    told = [(line["event"], line["fault"]) for line in world.lines if line["type"] == "ok"]
    assert told.index(("inject", 1)) < told.index(("heal", 0))
    assert told.index(("inject", 0)) < told.index(("inject", 1))


def test_an_isr_that_was_small_before_is_no_answer_to_the_fault_before(world):
    """At the load's begin it may be, for a moment, on a busy host."""
    world.sent, world.isr = 5, ("kafka1",)
    second = step(1, series=1, when="isr-alone", unit="seconds", at=0.0, target="kafka3")
    made = conductor(world, step(), second)
    with pytest.raises(WaitTimeout):
        wait_until(lambda: world.told("inject", "invoke"), timeout_s=0.5, what="nothing")
    world.sent, world.isr = 11, ("kafka3",)  # who leads after the first
    finish(made)

    order = [line["fault"] for line in world.told("inject", "ok")]
    assert order == [0, 1]


def test_what_never_was_in_force_keeps_nobody_waiting(world):
    """It did not bite; the next one comes once it is over."""
    world.sent, world.bites = 11, False
    second = step(1, series=1, when="in-force", unit="seconds", at=0.0, target="kafka3")
    made = conductor(world, step(), second)
    finish(made)

    assert [line["fault"] for line in world.told("inject", "info")] == [0, 1]
    assert made.failure is None
