"""command: a fault that the user's own programs inject and heal.

    [[faults]]
    verb = "command"
    target = "leader"
    at_s = 5
    for_s = 10
    [faults.options]
    inject = ["ssh", "{host}", "sudo systemctl kill -s STOP kafka"]
    heal   = ["ssh", "{host}", "sudo systemctl kill -s CONT kafka"]
    bit    = ["ssh", "{host}", "./is-stopped"]     # optional, asked until its exit code is 0
    healed = ["ssh", "{host}", "./is-running"]     # optional, the same
    limit_s = 60                                   # for each of them; the default
    effects = ["moves-leadership"]                 # what it can do, which promises depend on

Run once for each node that the target means, on the harness's host (on the local backend inside the
run's namespaces), without a shell, in the environment of the harness and without input. {node},
{id}, {host} and {port} stand for the node's; doubled braces are plain braces. `heal` must be
safe to run twice, and after an `inject` that failed half way.

Proof: the last line that a probe prints when it ends with 0. Without a probe the only evidence is
the command's exit code 0, and the history says so. A command that fails or exceeds its limit ends
the run; the fault is healed all the same. Only the last line of its output is kept.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo

from harness.cluster.nodes import ClusterError, Node
from harness.host import system_packages
from harness.model.effects import Effects
from harness.model.runs.run_folder import StoreError
from harness.model.spelling import did_you_mean
from harness.nemesis import options
from harness.nemesis.options import Options
from harness.nemesis.target import Target
from harness.nemesis.verb import Injection, LeftCommand, Verb

PLACEHOLDERS = ("node", "id", "host", "port")
LIMIT_S = 60.0
ASK_EVERY_S = 0.5
KEPT = 300  # characters of a last line


# Options

# What a command can do, by the words of `effects`: fields of Effects.
EFFECTS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "moves-leadership": {"leadership": "anywhere"},
    "moves-leadership-where-it-hits": {"leadership": "where-it-hits"},
    "takes-unsynced": {"takes": "unsynced"},
    "takes-all": {"takes": "all"},
    "alters-stored-bytes": {"alters_stored_bytes": True},
    "ends-processes": {"ends_processes": True, "starts_again": True},
    "clients-only": {"clients_only": True},
    "unknown": {},
}
BY_DEFAULT = "moves-leadership"
ALONE = ("nothing", "unknown")
HARMLESS = {"nothing", "clients-only"}  # to settings of brokers and topic
OF_CLIENTS = {"clients-only", "ends-processes"}


def _fillable(command: list[str], info: ValidationInfo) -> list[str]:
    """Refuse unknown placeholders."""
    try:
        parts = [part for word in command for part in Formatter().parse(word)]
    except ValueError as error:
        raise ValueError(
            f"{info.field_name}: {error}: write {{{{ and }}}} for plain braces"
        ) from None
    for _, name, form, conversion in parts:
        if name is not None and name not in PLACEHOLDERS:
            raise ValueError(
                f"{info.field_name}: {{{name}}} is unknown: use one of {', '.join(PLACEHOLDERS)}"
            )
        if form or conversion:
            raise ValueError(f"{info.field_name}: write {{{name}}} without a format")
    return command


def _effects_agree(words: list[str]) -> list[str]:
    """Refuse unknown effects, and those that contradict each other."""
    for word in words:
        if word not in EFFECTS:
            hint = did_you_mean(word, EFFECTS)
            raise ValueError(
                f"effects: {word!r} is unknown{hint}: use some of {', '.join(EFFECTS)}"
            )
    for word in ALONE:
        if word in words and len(set(words)) > 1:
            raise ValueError(f"effects: {word!r} cannot be combined: remove it, or all others")
    if "clients-only" in words and (others := sorted(set(words) - OF_CLIENTS)):
        raise ValueError(
            f"effects: 'clients-only' (no node is touched) contradicts {others[0]!r}: "
            "remove one of them"
        )
    for field in ("leadership", "takes"):
        both = [word for word in EFFECTS if word in words and field in EFFECTS[word]]
        if len(both) > 1:
            raise ValueError(f"effects: {both[0]!r} contradicts {both[1]!r}: remove one of them")
    return words


Command = Annotated[list[str], AfterValidator(_fillable), Field(min_length=1)]
WORDS = Field(description="a list of arguments", examples=[["ssh", "{host}"]])


class CommandOptions(Options):
    """The commands, in which the node is filled in, and what they can do."""

    inject: Annotated[Command, WORDS]
    heal: Annotated[Command, WORDS]
    bit: Annotated[Command | None, WORDS] = None
    healed: Annotated[Command | None, WORDS] = None
    limit_s: Annotated[
        float,
        Field(gt=0, le=10**6, description="the seconds that each command may take, more than 0"),
    ] = LIMIT_S
    effects: Annotated[list[str], AfterValidator(_effects_agree)] = Field(
        [BY_DEFAULT],
        min_length=1,
        description=f"a list of one or several of {', '.join(EFFECTS)}",
        examples=[[BY_DEFAULT]],
        json_schema_extra={"items": {"enum": [*EFFECTS]}},
    )


def effects_of(given: Options, _: Target) -> Effects | None:
    """The effects that the user has stated."""
    stated = CommandOptions.of(given).effects
    if "unknown" in stated:
        return None
    changes = not HARMLESS & set(stated)
    told = {key: value for word in stated for key, value in EFFECTS[word].items()}
    return Effects(**told, may_change_settings=changes)


# Commands


def of_node(template: Sequence[str], node: Node) -> list[str]:
    """The command for one node."""
    host, port = node.dial
    values = {"node": node.name, "id": node.id, "host": host, "port": port}
    return [word.format_map(values) for word in template]


def carried_out(argv: Sequence[str], limit_s: float) -> tuple[int, str]:
    """Run a command; its exit code and last line. Raises ClusterError when it cannot be run or does
    not end in time: then its whole process group is killed."""
    try:
        process = subprocess.Popen(
            [*system_packages.dying_along("KILL"), *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise ClusterError(f"{argv[0]}: cannot be run: {error.strerror}") from None
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise ClusterError(
            f"{argv[0]}: did not end within {limit_s:g} s: raise options.limit_s"
        ) from None
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return process.returncode, lines[-1][:KEPT] if lines else ""


def insist(which: str, template: Sequence[str], node: Node, limit_s: float) -> str:
    """Carry out the command `which` for a node, and return its last line. Raises ClusterError."""
    return finished(which, node.name, of_node(template, node), limit_s)


def finished(which: str, node: str, argv: Sequence[str], limit_s: float) -> str:
    """The same with the node filled in already."""
    code, last = carried_out(argv, limit_s)
    if code != 0:
        raise ClusterError(
            f"the {which} command for {node}, {argv[0]}, ended with exit code "
            f"{code}: {last or 'it printed nothing'}"
        )
    return last


def _inject(injection: Injection) -> None:
    commands, node = CommandOptions.of(injection.options), injection.node
    injection.memo["inject"] = insist("inject", commands.inject, node, commands.limit_s)


def _heal(injection: Injection) -> None:
    commands, node = CommandOptions.of(injection.options), injection.node
    injection.memo["heal"] = insist("heal", commands.heal, node, commands.limit_s)


def _in_force(injection: Injection) -> str | None:
    commands = CommandOptions.of(injection.options)
    return (
        _probed(injection, "bit", commands.bit)
        if commands.bit
        else _by_exit_code(injection, "inject")
    )


def _healed(injection: Injection) -> str | None:
    commands = CommandOptions.of(injection.options)
    return (
        _probed(injection, "healed", commands.healed)
        if commands.healed
        else _by_exit_code(injection, "heal")
    )


def _by_exit_code(injection: Injection, command: str) -> str:
    last = injection.memo[command]
    sentence = f"{command} for {injection.node.name} ended with exit code 0; there was no probe"
    return f"{sentence}: {last}" if last else sentence


def _probed(injection: Injection, probe: str, template: Sequence[str]) -> str | None:
    """The probe's evidence; it is run every half second."""
    node, memo = injection.node, injection.memo
    if time.monotonic() < memo.get("ask_s", 0.0):
        return None
    limit_s = CommandOptions.of(injection.options).limit_s
    code, last = carried_out(of_node(template, node), limit_s)
    memo["ask_s"] = time.monotonic() + ASK_EVERY_S
    return (last or f"{probe} for {node.name} ended with exit code 0") if code == 0 else None


# After a harness that was killed


def left_commands(
    fault: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]
) -> list[LeftCommand]:
    """The heal commands of a fault of an undo record, at the run's `nodes`. Raises StoreError:
    the record may be anybody's."""
    where = f"undo.jsonl: fault {fault['fault']}"
    if wrong := options.problems(CommandOptions, fault["options"]):
        raise StoreError(f"{where}: {wrong[0]}: restore the file")
    if unknown := [name for name in fault["nodes"] if name not in nodes]:
        raise StoreError(f"{where}: run.json has no node {unknown[0]}: restore the file")
    commands = CommandOptions.of(fault["options"])
    filled = {name: of_node(commands.heal, _node(name, nodes[name])) for name in fault["nodes"]}
    return [
        LeftCommand(node=name, argv=tuple(argv), limit_s=commands.limit_s)
        for name, argv in filled.items()
    ]


def _node(name: str, facts: Mapping[str, Any]) -> Node:
    host, _, port = facts["address"].rpartition(":")
    return Node(name=name, role=facts["role"], id=facts["id"], address=host, port=int(port))


COMMAND = Verb(
    name="command",
    undo="heal",
    done="hit by a custom command",
    effects=effects_of,
    options=CommandOptions,
    needs=(),
    inject=_inject,
    proof_in_force=_in_force,
    heal=_heal,
    healed=_healed,
    left_commands=left_commands,
    trial=None,
)
