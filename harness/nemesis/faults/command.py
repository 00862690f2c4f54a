"""command: whatever a program of the user's does to a node.

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

Run once for each node that the target means, on the harness's host (on the local backend inside the
run's namespaces), without a shell, in the environment of the harness and without input. {node},
{id}, {host} and {port} stand for the node's; braces that are doubled are braces. `heal` must be
safe to run twice, and after an `inject` that came half way.

Proof: the last line that a probe prints when it ends with 0. Without a probe there is only the
command's word, its exit code 0, and the evidence says so. A command that fails, or is not over by
its limit, ends the run; it is healed all the same. Of what is printed only the last line is kept.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from harness.cluster.nodes import ClusterError, Node
from harness.host import system_packages
from harness.nemesis.verb import Injection, Options, Verb, unknown

COMMANDS = ("inject", "heal", "bit", "healed")
PLACES = ("node", "id", "host", "port")
LIMIT_S = 60.0
ASK_EVERY_S = 0.5
KEPT = 300  # characters of a last line


def of_node(template: Sequence[str], node: Node) -> list[str]:
    """The command for one node."""
    host, port = node.dial
    places = {"node": node.name, "id": node.id, "host": host, "port": port}
    return [word.format_map(places) for word in template]


def carried_out(argv: Sequence[str], limit_s: float) -> tuple[int, str]:
    """Exit code and last line of a command. Raises ClusterError when it cannot be run, or is not
    over in time; then all that it has started is ended with it."""
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
        said, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise ClusterError(f"{argv[0]}: not over after {limit_s:g} s (options.limit_s)") from None
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return process.returncode, lines[-1][:KEPT] if lines else ""


def insist(which: str, options: Mapping[str, Any], node: Node) -> str:
    """Carry out the command `which` for a node, and return its last line. Raises ClusterError."""
    argv = of_node(options[which], node)
    code, last = carried_out(argv, float(options.get("limit_s", LIMIT_S)))
    if code != 0:
        raise ClusterError(
            f"the {which} command for {node.name}, {argv[0]}, ended with exit code "
            f"{code}: {last or 'it said nothing'}"
        )
    return last


def _inject(injection: Injection) -> None:
    injection.memo["inject"] = insist("inject", injection.options, injection.node)


def _heal(injection: Injection) -> None:
    injection.memo["heal"] = insist("heal", injection.options, injection.node)


def _probed(injection: Injection, probe: str, command: str) -> str | None:
    """The evidence by the probe, asked now and then; else the command's word."""
    node, options, memo = injection.node, injection.options, injection.memo
    if probe not in options:
        last = memo[command]
        word = f"{command} for {node.name} ended with exit code 0, by its own word"
        return f"{word}: {last}" if last else word
    if time.monotonic() < memo.get("ask_s", 0.0):
        return None
    template = options[probe]
    assert isinstance(template, list)
    limit_s = float(str(options.get("limit_s", LIMIT_S)))
    code, last = carried_out(of_node(template, node), limit_s)
    memo["ask_s"] = time.monotonic() + ASK_EVERY_S
    return (last or f"{probe} for {node.name} ended with exit code 0") if code == 0 else None


def _bit(injection: Injection) -> str | None:
    return _probed(injection, "bit", "inject")


def _healed(injection: Injection) -> str | None:
    return _probed(injection, "healed", "heal")


def _problems(options: Options) -> list[str]:
    found = unknown(options, *COMMANDS, "limit_s")
    for which in COMMANDS:
        command = options.get(which)
        if command is None and which in ("inject", "heal"):
            found.append(f'{which} is missing: give a command, as in {which} = ["ssh", "{{host}}"]')
        elif command is not None:
            found += [f"{which}: {why}" for why in _wrong(command)]
    limit = options.get("limit_s", LIMIT_S)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit <= 0:
        found.append(f"limit_s is {limit!r}, must be seconds, more than 0")
    return found


def _wrong(command: object) -> list[str]:
    if not isinstance(command, list) or not command:
        return ['a list of words is needed, as in ["ssh", "{host}"]']
    try:
        names = [name for word in command for _, name, _, _ in Formatter().parse(word)]
    except ValueError as error:
        return [f"{error}: double a brace that is to stay one"]
    strange = [name for name in names if name is not None and name not in PLACES]
    return [f"{{{name}}} stands for nothing: there is {', '.join(PLACES)}" for name in strange[:1]]


# After a harness that was killed


def heal_left(fault: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Carry out the heal commands of a fault of an undo record, at the run's `nodes`; what was
    done. Raises ClusterError."""
    told = []
    for name in fault["nodes"]:
        host, _, port = nodes[name]["address"].rpartition(":")
        node = Node(
            name=name, role=nodes[name]["role"], id=nodes[name]["id"], address=host, port=int(port)
        )
        last = insist("heal", fault["options"], node)
        told.append(f"{name}: its heal command ended with exit code 0" + (f": {last}" * bool(last)))
    return told


COMMAND = Verb(
    name="command",
    undo="heal",
    needs=(),
    inject=_inject,
    bit=_bit,
    heal=_heal,
    healed=_healed,
    problems=_problems,
    lists=COMMANDS,
)
