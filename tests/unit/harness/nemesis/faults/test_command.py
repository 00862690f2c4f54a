"""The user's own commands as a fault: what stands for what, whose word it is, what ends in time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.console import Console

from harness.cluster.local.backend import local_nodes
from harness.cluster.nodes import ClusterError
from harness.cluster.view.state import View
from harness.commands import heal
from harness.model.plan import Step
from harness.model.run_folder import RunFolder
from harness.nemesis.faults.command import COMMAND, carried_out, heal_left, of_node
from harness.nemesis.targets import Roles
from harness.nemesis.undo_record import Undo, outstanding
from harness.nemesis.verb import Injection
from harness.nemesis.verbs import VERBS
from harness.waiting import wait_until
from tests.support.run_records import run_record

NODES = local_nodes(3, 3)
KAFKA2 = NODES[4]


def say(text: str, code: int = 0) -> list[str]:
    return ["sh", "-c", f"echo first; echo '{text}'; exit {code}"]


@pytest.fixture
def injection() -> Callable[..., Injection]:
    def made(**options: Any) -> Injection:
        view: Any = None
        roles = Roles(
            nodes=NODES,
            view=View(partitions=(), controller=None),
            ensemble_leader=lambda: None,
            random=Random(1),
        )
        given = {"inject": ["true"], "heal": ["true"], **options}
        return Injection(
            fault=1,
            nodes=(KAFKA2,),
            roles=roles,
            cluster=view,
            view=view,
            options=COMMAND.options.of(given),
            seed=1,
        )

    return made


def test_words_stand_for_the_node():
    template = ["{node}", "{id}", "-p{port}", "{host}:{port}", "{{{id}}}"]

    assert of_node(template, KAFKA2) == [
        "kafka2",
        "2",
        f"-p{KAFKA2.port}",
        KAFKA2.endpoint,
        "{2}",
    ]


def test_without_a_probe_it_is_the_commands_exit_code(injection):
    made = injection(inject=say("stopped {node}"))
    COMMAND.inject(made)
    COMMAND.heal(made)

    assert COMMAND.bit(made) == (
        "inject for kafka2 ended with exit code 0; there was no probe: stopped kafka2"
    )
    assert COMMAND.healed(made) == "heal for kafka2 ended with exit code 0; there was no probe"


def test_a_probes_last_line_is_the_evidence_once_it_ends_with_0(injection, tmp_path):
    flag = tmp_path / "there"
    probe = ["sh", "-c", f"echo looked at {{node}}; echo {{node}} is down; test -e {flag}"]
    made = injection(bit=probe)
    COMMAND.inject(made)

    assert COMMAND.bit(made) is None
    flag.touch()
    assert COMMAND.bit(made) is None  # not asked again so soon
    wait_until(lambda: COMMAND.bit(made), timeout_s=5, what="the probe")
    made.memo["ask_s"] = 0.0
    assert COMMAND.bit(made) == "kafka2 is down"


def test_a_command_that_fails_says_its_last_line(injection):
    made = injection(inject=say("no such host", code=3))

    with pytest.raises(ClusterError, match=r"inject command for kafka2, .* 3: no such host"):
        COMMAND.inject(made)


def test_a_command_that_is_not_there_is_named(injection):
    with pytest.raises(ClusterError, match="no-such-program"):
        COMMAND.inject(injection(inject=["no-such-program"]))


def test_what_is_not_over_in_time_is_ended_with_all_that_it_started(tmp_path):
    pid = tmp_path / "pid"
    begin_s = time.monotonic()

    with pytest.raises(ClusterError, match=r"did not end within 1 s"):
        carried_out(["sh", "-c", f"sleep 60 & echo $! > {pid}; wait"], 1)
    assert time.monotonic() - begin_s < 20
    child = Path(f"/proc/{pid.read_text().strip()}/stat")
    wait_until(
        lambda: not child.exists() or " Z " in child.read_text(), timeout_s=5, what="its end"
    )


def test_only_the_last_line_is_kept_and_of_it_not_more_than_a_line(tmp_path):
    assert carried_out(["sh", "-c", "echo secret; echo; printf '%0500d\n' 1"], 5)[1] == "0" * 300


def test_the_environment_is_the_harness_s_and_there_is_no_input(monkeypatch):
    monkeypatch.setenv("WORD_OF_MINE", "here")

    assert carried_out(["sh", "-c", "cat; echo $WORD_OF_MINE"], 5) == (0, "here")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"inject": ["a"]}, "heal is missing"),
        (
            {"inject": "a b", "heal": ["b"]},
            'must be a list of arguments, as in inject = ["ssh", "{host}"]',
        ),
        (
            {"inject": [], "heal": ["b"]},
            'must be a list of arguments, as in inject = ["ssh", "{host}"]',
        ),
        ({"inject": ["{name}"], "heal": ["b"]}, "inject: {name} is unknown: use one of node"),
        ({"inject": ["a{"], "heal": ["b"]}, "write {{ and }}"),
        ({"inject": ["a"], "heal": ["b"], "limit_s": 0}, "limit_s is 0"),
        ({"inject": ["a"], "heal": ["b"], "undo": ["c"]}, "'undo' is unknown"),
    ],
)
def test_options_are_refused_with_the_one_that_is_wrong(options, told):
    assert told in "; ".join(COMMAND.problems(options))


def test_right_options_pass_and_the_plan_shows_them_as_a_shell_would():
    options = {"inject": ["ssh", "{host}", "a b"], "heal": ["b"], "bit": ["c"], "limit_s": 5}
    assert VERBS["command"].problems(options) == []
    step = Step(
        step=0,
        series=0,
        verb="command",
        target="leader",
        unit="seconds",
        at=1,
        for_s=0,
        until=None,
        options=options,
        seed=1,
    )

    assert "inject=(ssh '{host}' 'a b') heal=(b) bit=(c) limit_s=5" in step.describe()


# After a harness that was killed


def left_over(tmp_path: Path, backend: str) -> RunFolder:
    folder = RunFolder(path=tmp_path)
    nodes = {"kafka2": {"address": "h2:9092", "role": "broker", "id": 2}}
    folder.write(run_record(backend=backend, nodes=nodes))
    record = Undo(tmp_path)
    mark = tmp_path / "healed"
    for fault in (1, 2):
        record.begun(
            fault,
            "command",
            "heal",
            ["kafka2"],
            {
                "inject": ["true"],
                "heal": ["sh", "-c", f"echo {fault} {{id}} {{host}} >> {mark}"],
            },
        )
    record.undone(1)
    return folder


def test_heal_carries_out_what_is_left_and_only_that(tmp_path):
    folder = left_over(tmp_path, "external")

    assert heal.heal_run(folder, Console(file=sys.stderr), down=False) == 0
    assert (tmp_path / "healed").read_text() == "2 2 h2\n"
    assert outstanding(tmp_path) == []


def test_what_was_done_inside_namespaces_that_are_gone_is_left_alone(tmp_path):
    """A pid of then is somebody else's now."""
    folder = left_over(tmp_path, "local")

    heal.heal_run(folder, Console(file=sys.stderr), down=False)

    assert not (tmp_path / "healed").exists()


def test_a_verb_heals_what_is_left_by_its_own_function_and_unknown_verbs_are_passed_over(
    tmp_path, monkeypatch
):
    folder = left_over(tmp_path, "external")
    Undo(tmp_path).begun(3, "of-another-version", "undo", ["kafka2"], {})
    asked: list[str] = []

    def undo(fault: Mapping[str, Any], _: object) -> list[str]:
        asked.append(fault["verb"])
        return []

    monkeypatch.setitem(VERBS, "command", replace(VERBS["kill"], heal_left=undo))

    assert heal.heal_run(folder, Console(file=sys.stderr), down=False) == 0
    assert asked == ["command"]
    assert outstanding(tmp_path) == []


def test_a_heal_command_that_fails_is_no_healing():
    fault = {"nodes": ["kafka2"], "options": {"heal": ["sh", "-c", "echo not yet; exit 1"]}}
    nodes = {"kafka2": {"address": "h2:9092", "role": "broker", "id": 2}}

    with pytest.raises(ClusterError, match=r"heal command for kafka2, sh, .*: not yet"):
        heal_left(fault, nodes)
