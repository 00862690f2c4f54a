"""The conductor: every fault begun is healed, unproved ones are said to be, the load is paused."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Any

import pytest

from harness.cluster.local.backend import kraft_nodes
from harness.cluster.nodes import NotInTime
from harness.cluster.view.state import Blind
from harness.nemesis.undo_record import Undo, outstanding
from harness.nemesis.verb import DoesNothing
from harness.nemesis.verbs import VERBS
from harness.waiting import wait_until
from tests.support.conducted_plans import FakeCluster, conductor, finish, step


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
    assert world.lines_of("inject", "invoke")[0]["nodes"] == ["kafka1"]
    assert world.lines_of("inject", "ok")[0]["evidence"] == "fallen"
    assert world.lines_of("heal", "ok")[0]["evidence"] == "risen; every ISR has 3 members"
    assert made.failure is None


def test_a_controller_that_ends_itself_once_it_was_back_is_started_once_more(world, monkeypatch):
    """It answers before it has met the others, and ends itself when it does."""
    asked: list[bool] = []

    def healed(injection: Any) -> str:
        asked.append("controller1" in world.down)
        world.down = {"controller1"} if len(asked) == 1 else set()
        return "risen"

    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], healed=healed))
    world.sent, world.nodes = 11, kraft_nodes(3, 3, combined=False)
    made = conductor(world, step(target="controller1"))
    finish(made)

    assert asked == [False, True]
    assert made.failure is None


def test_what_a_node_has_on_disk_is_kept_before_it_is_healed(world):
    world.sent = 11
    finish(conductor(world, step()))

    assert world.kept == [(("kafka1",), {"kafka1"})]


def test_a_step_counted_in_rounds_waits_until_the_load_is_past_it(world):
    world.sent = 10
    made = conductor(world, step())
    assert not made.done()
    world.sent = 11
    finish(made)

    assert world.lines_of("inject", "ok")


def test_the_load_is_held_at_the_next_step_until_the_one_before_is_healed(world):
    world.sent = 31
    finish(conductor(world, step(0), step(1, at=20.0), step(2, at=30.0)))

    assert world.held == [20, 30, None, None, None]


def test_a_fault_without_evidence_is_healed_and_never_called_ok(world):
    world.sent, world.bites = 11, False
    finish(conductor(world, step()))

    assert not world.lines_of("inject", "ok")
    assert "waited" in world.lines_of("inject", "info")[0]["error"]
    assert not world.down


def busy(name: str) -> Any:
    """Of a verb that does something to one node only."""
    return lambda roles, hit, _: (
        None if name in hit else f"{', '.join(sorted(hit))} has nothing to do"
    )


def test_a_node_to_which_the_verb_would_do_nothing_is_no_target(world, monkeypatch):
    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], idle=busy("kafka2")))
    world.sent = 11
    finish(conductor(world, step(target="leader")))

    assert "kafka1 has nothing to do" in world.lines_of("inject", "info")[0]["error"]
    assert not world.lines_of("inject", "invoke")


@pytest.mark.parametrize("target", ["one", "follower", "minority"])
def test_lots_are_drawn_among_those_to_whom_the_verb_does_something(world, monkeypatch, target):
    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], idle=busy("kafka3")))
    world.sent = 11
    for seed in range(5):
        world.leader, world.down = "kafka1", set()
        finish(conductor(world, step(target=target, seed=seed)))

    assert world.groups == [["kafka3"]] * 5


def test_a_fault_that_is_seen_to_do_nothing_is_not_waited_for(world, monkeypatch):
    def proof_in_force(_: Any) -> str:
        raise DoesNothing("2000 kbit/s is above its traffic")

    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], proof_in_force=proof_in_force))
    world.limits = replace(world.limits, proof_s=60.0)
    world.sent = 11
    made = conductor(world, step())
    finish(made)

    assert world.lines_of("inject", "info")[0]["error"] == "2000 kbit/s is above its traffic"
    assert world.lines_of("heal", "ok")
    assert made.failure is None


@pytest.mark.parametrize("problem", [Blind("no broker takes it"), NotInTime("no broker takes it")])
def test_a_fault_of_which_nobody_could_be_asked_is_unproved_and_says_so(
    world, monkeypatch, problem
):
    def proof_in_force(_: Any) -> str:
        raise problem

    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], proof_in_force=proof_in_force))
    world.sent = 11
    made = conductor(world, step())
    finish(made)

    error = world.lines_of("inject", "info")[0]["error"]
    assert "fell to take effect: no broker takes it" in error
    assert world.lines_of("heal", "ok")
    assert made.failure is None


def test_a_fault_that_nobody_can_take_is_recorded_as_not_happened(world):
    world.sent, world.leader = 11, None
    finish(conductor(world, step()))

    assert world.lines_of("inject", "info")[0]["nodes"] == []
    assert not world.lines_of("inject", "invoke")


def test_a_verb_that_breaks_is_healed_and_ends_the_run(world):
    world.sent, world.breaks = 11, True
    made = conductor(world, step(), step(1, at=11.0))
    finish(made)

    assert "no such process" in str(made.failure)
    assert world.lines_of("heal", "invoke")


def test_a_node_that_does_not_come_back_ends_the_run_naming_it(world):
    world.sent, world.returns = 11, False
    made = conductor(world, step())
    finish(made)

    assert "kafka1 to be back" in str(made.failure)
    assert world.lines_of("heal", "info")


def test_stopping_heals_what_is_in_force_and_begins_nothing_new(world):
    world.sent = 11
    made = conductor(world, step(for_s=1000.0), step(1, at=11.0))
    wait_until(
        lambda: world.lines_of("inject", "ok"), timeout_s=10, what="the fault to be in force"
    )
    made.stop()

    assert not world.down
    assert len(world.lines_of("inject", "invoke")) == 1
    assert made.failure is None


def test_a_fault_may_last_until_leadership_moved(world):
    world.sent = 11
    finish(conductor(world, step(until="leader-moved")))

    assert world.lines_of("heal", "ok")


def test_a_fault_may_last_until_other_members_have_the_partitions(world):
    class Members:
        asked: tuple[str, ...] = ()
        have_them = False

        def living(self) -> tuple[()]:
            return ()

        def partitions_moved(self, nodes: Any) -> bool:
            self.asked = tuple(node.name for node in nodes)
            return self.have_them

    world.sent, members = 11, Members()
    made = conductor(world, step(until="partitions-moved"), clients=members)
    wait_until(lambda: members.asked, timeout_s=10, what="the members to be asked")
    assert not world.lines_of("heal", "invoke")

    members.have_them = True
    finish(made)
    assert members.asked == ("kafka1",)
    assert world.lines_of("heal", "ok")


def test_a_verb_takes_its_nodes_one_by_one_or_together(world):
    world.sent = 11
    finish(conductor(world, step(target="all")))
    finish(conductor(world, step(verb="fell-together", target="all")))

    assert world.groups == [["kafka1"], ["kafka2"], ["kafka3"], ["kafka1", "kafka2", "kafka3"]]
    assert world.lines_of("inject", "ok")[1]["nodes"] == ["kafka1", "kafka2", "kafka3"]


def test_who_was_hit_is_told_with_the_role_it_played(world):
    world.sent = 11
    finish(conductor(world, step(target="all")))

    assert world.lines_of("inject", "invoke")[0]["roles"] == {
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


def test_a_verb_acts_again_and_again_while_it_is_in_force(world, monkeypatch):
    acted: list[str] = []
    verb = replace(VERBS["fell"], during=lambda injection: acted.append(injection.node.name))
    monkeypatch.setitem(VERBS, "fell", verb)
    world.sent = 11
    made = conductor(world, step(for_s=1000))
    wait_until(lambda: len(acted) > 2, timeout_s=10, what="the verb to act again")
    made.stop()


def test_a_mistake_of_ours_ends_the_run_and_heals(world, monkeypatch):
    def proof_in_force(_: Any) -> str:
        raise ZeroDivisionError("oops")

    monkeypatch.setitem(VERBS, "fell", replace(VERBS["fell"], proof_in_force=proof_in_force))
    world.sent = 11
    made = conductor(world, step())
    finish(made)

    assert "oops" in str(made.failure)
    assert not world.down


@pytest.mark.parametrize("unwritten", ["inject", "heal"])
def test_a_fault_is_healed_although_there_is_no_room_to_write_of_it(world, unwritten):
    def write(event: str, **fields: Any) -> None:
        if event == unwritten and (unwritten == "heal" or fields["type"] == "ok"):
            raise OSError(errno.ENOSPC, "No space left on device")
        FakeCluster.write(world, event, **fields)

    world.sent, world.write = 11, write
    made = conductor(world, step())
    finish(made)

    assert not world.down
    assert isinstance(made.failure, OSError)
