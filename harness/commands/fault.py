"""kafka-harness fault: orders one fault beside a cluster that `kafka-harness up` holds."""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Annotated, Any

import typer

SOCKET = "KAFKA_HARNESS_FAULTS"  # the variable that `up` sets for its command


def fault(
    verb: Annotated[str, typer.Argument(metavar="VERB", help="kill, pause, cut, …")] = "",
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="leader, kafka2, payments-0, …")
    ] = "",
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="KEY=VALUE", help="An option of the verb; repeatable."),
    ] = None,
    for_s: Annotated[float, typer.Option("--for", help="So many seconds at least.")] = 0.0,
    until: Annotated[str, typer.Option("--until", help="leader-moved, isr-alone, …")] = "",
    hold: Annotated[
        bool, typer.Option("--hold", help="Leave it in force; prints its number.")
    ] = False,
    heal: Annotated[
        int | None, typer.Option("--heal", metavar="NUMBER", help="Heal one that is held.")
    ] = None,
) -> None:
    """Inject a fault into the cluster of `kafka-harness up`, from inside it; returns when it is
    proved and, unless it is held, healed.

    kafka-harness fault kill leader --until leader-moved

    Exit codes: 0 done, 2 not proved, 254 bad words or no such cluster, 255 not healed.
    """
    from harness.model.scenario import ScenarioError
    from harness.scenario.overrides import parse_value

    if (heal is None) != bool(verb and target):
        raise ScenarioError("fault: give a verb and a target, or --heal NUMBER")
    path = os.environ.get(SOCKET)
    if not path:
        raise ScenarioError(
            f"fault: {SOCKET} is not set: call it inside of `kafka-harness up SCENARIO -- COMMAND`"
        )
    wrong = [option for option in options or () if "=" not in option]
    if wrong:
        raise ScenarioError(f"fault: --option {wrong[0]}: write KEY=VALUE")
    given = dict(option.split("=", 1) for option in options or ())
    asked = {
        "verb": verb,
        "target": target,
        "for_s": for_s,
        "options": {key: parse_value(text) for key, text in given.items()},
        **({"until": until} if until else {}),
    }
    answer = _asked(path, {"fault": asked, "hold": hold} if heal is None else {"heal": heal})
    if answer["code"]:
        sys.stderr.write(f"kafka-harness: {answer['words']}\n")
    else:
        sys.stdout.write(f"{answer['fault'] if hold else answer['words']}\n")
    raise typer.Exit(answer["code"])


def _asked(path: str, order: dict[str, Any]) -> dict[str, Any]:
    from harness.model.scenario import ScenarioError

    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.sendall((json.dumps(order) + "\n").encode())
            with connection.makefile() as answers:
                answer: dict[str, Any] = json.loads(answers.readline())
                return answer
    except (OSError, ValueError) as error:
        raise ScenarioError(f"fault: nobody takes orders at {path} ({error})") from None
