"""What every verb says of itself: words, effects, options, needs; and that the plan keeps it."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.capabilities import Operated, Preparable, Processes, Restarts
from harness.model.effects import Effects
from harness.model.plan import Telling
from harness.nemesis import plan
from harness.nemesis.options import Options
from harness.nemesis.target import Setting, Target
from harness.nemesis.targets import TARGETS, target_of
from harness.nemesis.verbs import VERBS
from harness.scenario import file
from harness.scenario.prepare import Request, prepare

SETTING = Setting(
    brokers=3,
    zookeepers=3,
    partitions=1,
    replicas=3,
    workers={"producer": 1, "consumer": 1, "group-consumer": 1},
    transactions=False,
)

NONE = Effects()
ENDED = Effects(leadership="where-it-hits", ends_processes=True)
RESTARTED = Effects(leadership="where-it-hits", ends_processes=True, starts_again=True)
SLOWED = Effects(leadership="where-it-hits")
ANYWHERE = Effects(leadership="anywhere")
# Those of the verbs that came with the house, by the options of their examples, at the leader.
EFFECTS = {
    "kill": ENDED,
    "stop": ENDED,
    "pause": Effects(leadership="where-it-hits", halts_processes=True),
    "cut": ANYWHERE,
    "lose": ANYWHERE,
    "delay": ANYWHERE,
    "throttle": ANYWHERE,
    "reorder": ANYWHERE,
    "duplicate": ANYWHERE,
    "corrupt": ANYWHERE,
    "roll": RESTARTED,
    "crash-loop": RESTARTED,
    "elect": Effects(leadership="anywhere", permanent=True),
    "move-leader": ANYWHERE,
    "reassign": ANYWHERE,
    "raise-replication": NONE,
    "decommission": Effects(leadership="anywhere", ends_processes=True),
    "set-config": Effects(topic_settings={"retention.ms": "86400000"}, may_change_settings=True),
    "add-partitions": Effects(permanent=True, adds_partitions=1),
    "remove-controller": NONE,
    "add-controller": NONE,
    "cut-answers": NONE,
    "dump-log": NONE,
    "freeze-disk": ENDED,
    "fill-disk": ENDED,
    "slow-disk": SLOWED,
    "fail-disk": ENDED,
    "lose-power": Effects(leadership="anywhere", takes="unsynced", ends_processes=True),
    "lose-disk": Effects(leadership="anywhere", takes="all", ends_processes=True),
    "flip-bit": Effects(alters_stored_bytes=True),
    "skew-clock": Effects(leadership="where-it-hits", skews_clock_s=-60),
    "command": Effects(leadership="anywhere", may_change_settings=True),
    "delete-pod": RESTARTED,
    "delete-pod-now": RESTARTED,
    "drain": RESTARTED,
}


def target(name: str) -> Target:
    found = target_of(name, SETTING)
    assert found is not None
    return found


def effects(verb: str, at: str = "leader", **options: Any) -> Effects | None:
    return VERBS[verb].effects_at(target(at), options)


# --- words


def test_a_verb_has_words_for_reports_unless_it_breaks_nothing() -> None:
    assert ["dump-log"] == [name for name, verb in VERBS.items() if not verb.done]
    assert [] == [
        name for name, verb in VERBS.items() if verb.done != verb.done.strip().rstrip(".")
    ]


def test_the_words_fit_one_and_many() -> None:
    """All followers were …, the leader was …"""
    of_one = {"its", "their", "it", "them", "is", "are"}

    assert [] == [name for name, verb in VERBS.items() if of_one & {*verb.done.split()}]


# --- effects


def test_the_verbs_effects_are_those_written_down_here() -> None:
    told = {name: effects(name, **VERBS[name].options.example()) for name in EFFECTS}

    assert told == EFFECTS


@pytest.mark.parametrize("verb", ["cut", "lose", "delay"])
@pytest.mark.parametrize(
    ("peers", "leadership"),
    [
        ("clients", "if-seen"),
        ("clients, clients", "if-seen"),
        ("clients, followers", "anywhere"),
        ("zookeepers", "anywhere"),
    ],
)
def test_links_to_the_clients_alone_leave_the_leader_where_it_is(
    verb: str, peers: str, leadership: str
) -> None:
    told = effects(verb, **{**VERBS[verb].options.example(), "from": peers})

    assert told == Effects.model_validate({"leadership": leadership})


def test_a_cut_by_shape_is_among_nodes() -> None:
    assert effects("cut", "all", shape="halves") == ANYWHERE


@pytest.mark.parametrize("at", ["producers", "consumer", "group-consumer-0"])
def test_what_hits_a_worker_touches_no_node(at: str) -> None:
    assert effects("kill", at) == Effects(clients_only=True, ends_processes=True)
    assert effects("pause", at) == Effects(clients_only=True, halts_processes=True)


@pytest.mark.parametrize(
    ("verb", "takes"), [("lose-disk", "all"), ("lose-power", "unsynced"), ("kill", "nothing")]
)
def test_a_controller_loses_what_it_had_written_as_a_broker_does(verb: str, takes: str) -> None:
    """Of metadata: whether that permits anything is for the judge to say."""
    setting = replace(SETTING, zookeepers=0, controllers=3)
    at = target_of("controller1", setting)
    assert at is not None

    told = VERBS[verb].effects_at(at, {})

    assert told is not None
    assert (told.takes, told.ends_processes) == (takes, True)


def test_verbs_of_processes_disks_and_power_hit_controllers_or_say_why_not() -> None:
    setting = replace(SETTING, zookeepers=0, controllers=3)
    at = target_of("quorum-leader", setting)
    assert at is not None
    assert at.kind == "controller"
    frozen = VERBS["freeze-disk"]

    assert {"roll", "lose-power", "lose-disk", "fill-disk", "slow-disk", "fail-disk"} == {
        name
        for name, verb in VERBS.items()
        if verb.hits == {"broker", "controller"} and verb is not frozen
    }
    assert "use fill-disk or fail-disk" in str(frozen.impossible(setting, at, frozen.options()))
    assert frozen.impossible(setting, target("leader"), frozen.options()) is None


def test_of_all_controllers_the_last_one_s_writes_cannot_fail() -> None:
    """It is no leader without the others, so it appends nothing."""
    failing = VERBS["fail-disk"]

    def told(at: str, **more: Any) -> str | None:
        setting = replace(SETTING, zookeepers=0, controllers=3, **more)
        found = target_of(at, setting)
        assert found is not None
        return failing.impossible(setting, found, failing.options())

    assert "use quorum-majority" in str(told("quorum-all"))
    assert told("quorum-majority") is None
    assert told("quorum-all", combined=True) is None


def test_changed_settings_are_kept_as_kafka_spells_them() -> None:
    unclean: dict[str, Any] = {"unclean.leader.election.enable": True}
    told = effects("set-config", on="brokers", **unclean)

    assert told is not None
    assert told.topic_settings == {"unclean.leader.election.enable": "true"}


# --- options


def test_a_verb_s_options_are_a_model_that_refuses_what_it_does_not_know() -> None:
    """But for set-config's, which are Kafka's keys. tests/unit/scripts has their descriptions."""
    told = {name: (verb.options, verb.options.model_config) for name, verb in VERBS.items()}

    assert [] == [name for name, (model, _) in told.items() if not issubclass(model, Options)]
    assert [] == [
        name for name, (_, config) in told.items() if not (config["frozen"] and config["strict"])
    ]
    assert ["set-config"] == [
        name for name, (_, config) in told.items() if config["extra"] != "forbid"
    ]


def test_a_verb_s_example_is_right() -> None:
    assert [] == [
        f"{name}: {problem}"
        for name, verb in VERBS.items()
        for problem in verb.problems(verb.options.example())
    ]


# --- what it needs


def test_who_wants_nodes_started_in_a_way_needs_a_cluster_that_does_so() -> None:
    preparing = {name: verb for name, verb in VERBS.items() if verb.prepares is not None}

    assert preparing
    assert [] == [name for name, verb in preparing.items() if Preparable not in verb.needs]


def test_who_ends_processes_needs_them_to_stay_down() -> None:
    """But where Kubernetes is asked to make another one."""
    by_itself = {"delete-pod", "delete-pod-now", "drain"}
    ending = {name for name, told in EFFECTS.items() if told.ends_processes} - by_itself

    assert ending == {name for name in EFFECTS if Restarts in VERBS[name].needs}
    assert Processes in VERBS["pause"].needs


def test_an_operator_s_commands_need_a_cluster_that_is_the_harness_s_to_operate() -> None:
    needing = {name for name in EFFECTS if Operated in VERBS[name].needs}

    assert needing == {
        "elect",
        "move-leader",
        "reassign",
        "raise-replication",
        "decommission",
        "set-config",
        "add-partitions",
        "remove-controller",
        "add-controller",
    }
    assert VERBS["command"].needs == ()


# --- in the plan

SCENARIO = """
title = "trial"
[workload]
kind = "stream"
[[faults]]
verb = "{verb}"
target = "{target}"
at_s = 1
for_s = 1
"""


def planned(tmp_path: Path, verb: str, at: str = "leader", more: str = "") -> dict[str, Any]:
    """The first step of run.json's plan."""
    path = tmp_path / "trial.toml"
    path.write_text(SCENARIO.format(verb=verb, target=at) + more)
    return prepare(Request(scenario=str(path), seed=1)).record.plan[0].as_record()


# A verb that does what pause does, by the recipe: one file, and one line in VERBS.
DOZE = '''
"""doze: a node's process sleeps for a while."""

from harness.cluster.capabilities import Processes
from harness.model.effects import Effects
from harness.nemesis.faults.processes import signals
from harness.nemesis.verb import PROCESSES, Verb

DOZE = Verb(
    name="doze",
    undo="wake",
    done="sent to sleep",
    effects=Effects(leadership="where-it-hits", halts_processes=True),
    needs=(Processes,),
    holds="process",
    hits=PROCESSES,
    inject=signals.PAUSE.inject,
    proof_in_force=signals.PAUSE.proof_in_force,
    heal=signals.PAUSE.heal,
    healed=signals.PAUSE.healed,
)
'''


@pytest.mark.parametrize("at", ["leader", "kafka2", "zk-one", "producers"])
def test_a_verb_that_is_added_by_the_recipe_alone_counts_as_what_it_says(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "doze.py"
    path.write_text(DOZE)
    spec = importlib.util.spec_from_file_location("doze", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(VERBS, "doze", module.DOZE)

    doze, pause = planned(tmp_path, "doze", at), planned(tmp_path, "pause", at)

    assert doze["effects"] == pause["effects"] is not None
    assert doze["telling"] == {**pause["telling"], "done": "sent to sleep"}


def test_the_plan_keeps_how_a_fault_is_told(tmp_path: Path) -> None:
    assert planned(tmp_path, "stop", "followers")["telling"] == {
        "done": "shut down",
        "who": "all followers",
        "many": True,
        "kind": "broker",
    }
    assert planned(tmp_path, "stop", "kafka2")["telling"]["who"] == "kafka2"


def test_the_plan_keeps_the_options_as_they_were_given(tmp_path: Path) -> None:
    given = 'options = { "min.insync.replicas" = 2 }\n'
    step = planned(tmp_path, "set-config", more=given)

    assert step["options"] == {"min.insync.replicas": 2}
    assert step["effects"]["topic_settings"] == {"min.insync.replicas": "2"}


def test_faults_drawn_at_random_have_it_too() -> None:
    chosen = file.read_scenario("soak-mixed")
    steps = plan.make(chosen.faults, 1, chosen.mixed, setting=SETTING)

    assert steps
    for step in steps:
        verb, at = VERBS[step.verb], TARGETS[step.target]
        assert step.telling == Telling(done=verb.done, who=at.who, many=at.many, kind=at.kind)
        assert step.effects == verb.effects_at(at, step.options)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (None, ANYWHERE),
        (["nothing"], NONE),
        (["moves-leadership"], ANYWHERE),
        (["moves-leadership-where-it-hits", "ends-processes"], RESTARTED),
        (["moves-leadership", "takes-unsynced"], Effects(leadership="anywhere", takes="unsynced")),
        (["takes-all"], Effects(takes="all")),
        (["alters-stored-bytes"], Effects(alters_stored_bytes=True)),
        (
            ["clients-only", "ends-processes"],
            Effects(clients_only=True, ends_processes=True, starts_again=True),
        ),
        (["unknown"], None),
    ],
)
def test_a_command_does_what_its_user_says_and_by_default_moves_leadership(
    stated: list[str] | None, expected: Effects | None, tmp_path: Path
) -> None:
    given = f"effects = {stated}\n".replace("'", '"') if stated else ""
    commands = '[faults.options]\ninject = ["true"]\nheal = ["true"]\n'
    step = planned(tmp_path, "command", more=commands + given)

    changes = not {"nothing", "clients-only"} & set(stated or ())
    told = expected and {**expected.model_dump(), "may_change_settings": changes}
    assert step["effects"] == told
