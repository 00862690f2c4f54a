"""The user's own commands as a fault: what stands for what, whose word it is, what ends in time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from io import StringIO
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
from harness.model.runs.run_folder import RunFolder, StoreError
from harness.nemesis.faults.command import COMMAND, carried_out, left_commands, of_node
from harness.nemesis.targets import Roles
from harness.nemesis.undo_record import Undo, outstanding
from harness.nemesis.verb import Injection
from harness.nemesis.verbs import VERBS
from harness.waiting import wait_until
from tests.support.recorded_runs import run_record

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

    assert COMMAND.proof_in_force(made) == (
        "inject for kafka2 ended with exit code 0; there was no probe: stopped kafka2"
    )
    assert COMMAND.healed(made) == "heal for kafka2 ended with exit code 0; there was no probe"


def test_a_probes_last_line_is_the_evidence_once_it_ends_with_0(injection, tmp_path):
    flag = tmp_path / "there"
    probe = ["sh", "-c", f"echo looked at {{node}}; echo {{node}} is down; test -e {flag}"]
    made = injection(bit=probe)
    COMMAND.inject(made)

    assert COMMAND.proof_in_force(made) is None
    flag.touch()
    assert COMMAND.proof_in_force(made) is None  # not asked again so soon
    wait_until(lambda: COMMAND.proof_in_force(made), timeout_s=5, what="the probe")
    made.memo["ask_s"] = 0.0
    assert COMMAND.proof_in_force(made) == "kafka2 is down"


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


NODES_OF_RUN = {"kafka2": {"address": "h2:9092", "role": "broker", "id": 2}}


def left_over(tmp_path: Path, backend: str, heal_command: list[str] | None = None) -> RunFolder:
    folder = RunFolder(path=tmp_path)
    folder.write(run_record(backend=backend, nodes=NODES_OF_RUN))
    record = Undo(tmp_path)
    mark = tmp_path / "healed"
    for fault in (1, 2):
        given = heal_command or ["sh", "-c", f"echo {fault} {{id}} {{host}} >> {mark}"]
        options = {"inject": ["true"], "heal": given}
        record.begun(fault, "command", "heal", ["kafka2"], options)
    record.undone(1)
    return folder


def healed(folder: RunFolder, *allow: str) -> tuple[int, str]:
    """The exit code, and what was printed."""
    console = Console(file=StringIO(), soft_wrap=True)
    code = heal.heal_run(folder, console, down=False, allow=allow)
    return code, console.file.getvalue()  # type: ignore[attr-defined]


def test_heal_carries_out_what_is_left_and_allowed_and_only_that(tmp_path):
    folder = left_over(tmp_path, "external")

    code, said = healed(folder, "command")

    assert code == 0
    assert "kafka2: its heal command ended with exit code 0" in said
    assert (tmp_path / "healed").read_text() == "2 2 h2\n"
    assert outstanding(tmp_path) == []


@pytest.mark.parametrize("allow", [(), ("kill",), ("h2:9092",)])
def test_a_heal_command_that_is_not_allowed_is_printed_in_full_and_not_run(tmp_path, allow):
    folder = left_over(tmp_path, "external")

    code, said = healed(folder, *allow)

    assert code == 255
    assert f"sh -c 'echo 2 2 h2 >> {tmp_path / 'healed'}'" in said
    assert "--allow command" in said
    assert not (tmp_path / "healed").exists()
    assert [2] == [fault["fault"] for fault in outstanding(tmp_path)]


def test_a_command_is_printed_as_it_is_however_it_would_steer_a_terminal(tmp_path):
    folder = left_over(tmp_path, "external", ["rm", "a\x1b[2K\rls", "[bold]x[/bold]", "z" * 5000])

    _, said = healed(folder)

    assert "\x1b" not in said
    assert "\r" not in said
    assert "rm 'a\\x1b[2K\\rls' '[bold]x[/bold]' " + "z" * 5000 in said


@pytest.mark.parametrize(
    ("options", "nodes", "told"),
    [
        ({"heal": ["true"]}, ["kafka2"], "inject is missing"),
        ({"inject": ["a"], "heal": "rm -rf x"}, ["kafka2"], "must be a list of arguments"),
        ({"inject": ["a"], "heal": ["{node.__class__}"]}, ["kafka2"], "is unknown"),
        ({"inject": ["a"], "heal": ["{id:>9999999999}"]}, ["kafka2"], "without a format"),
        ({"inject": ["a"], "heal": ["b"], "limit_s": 1e300}, ["kafka2"], "limit_s is 1e+300"),
        ({"inject": ["a"], "heal": ["b"]}, ["kafka9"], "run.json has no node kafka9"),
    ],
)
def test_an_undo_record_that_makes_no_sense_is_refused(tmp_path, options, nodes, told):
    folder = RunFolder(path=tmp_path)
    folder.write(run_record(backend="external", nodes=NODES_OF_RUN))
    Undo(tmp_path).begun(1, "command", "heal", nodes, options)

    with pytest.raises(StoreError, match=re.escape(told)) as refused:
        healed(folder, "command")
    assert "undo.jsonl" in str(refused.value)


def test_what_was_done_inside_namespaces_that_are_gone_is_left_alone(tmp_path):
    """A pid of then is somebody else's now."""
    folder = left_over(tmp_path, "local")

    assert healed(folder, "command")[0] == 0

    assert not (tmp_path / "healed").exists()
    assert outstanding(tmp_path) == []


def test_verbs_that_are_unknown_or_the_backends_are_passed_over(tmp_path):
    folder = left_over(tmp_path, "external")
    Undo(tmp_path).begun(3, "of-another-version", "undo", ["kafka2"], {})
    Undo(tmp_path).begun(4, "cut", "mend", ["kafka2"], {})

    assert healed(folder)[0] == 255
    assert [2] == [fault["fault"] for fault in outstanding(tmp_path)]
    assert healed(folder, "command")[0] == 0
    assert outstanding(tmp_path) == []


def test_a_heal_command_that_fails_is_no_healing(tmp_path):
    folder = left_over(tmp_path, "external", ["sh", "-c", "echo not yet; exit 1"])

    with pytest.raises(ClusterError, match=r"heal command for kafka2, sh, .*: not yet"):
        healed(folder, "command")
    assert [2] == [fault["fault"] for fault in outstanding(tmp_path)]


def test_the_commands_that_heal_name_the_node():
    fault = {"fault": 1, "nodes": ["kafka2"], "options": {"inject": ["a"], "heal": ["b", "{host}"]}}

    (command,) = left_commands(fault, NODES_OF_RUN)

    assert (command.node, command.argv, command.limit_s) == ("kafka2", ("b", "h2"), 60.0)
