"""Programs of the user's own, and what they make of the workload's records: docs/applications.md.

In texts of `[[programs]]` and `[outputs]` these stand for what is known only in a run: {bootstrap}
the brokers' addresses, {topic} and {outputs} the two topics, {index} the program's number, {folder}
a folder of its own in the run's, {python} the harness's own Python.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from harness.model.sections.part import Count, Length, Listed, Part, Value

_EACH = re.compile(r"(\d{1,6})(\.\.(\d{1,6})?)?")
_ID = re.compile(r"json:/.+|key|header:.+|regex:.*\(.+\).*")
_READY = re.compile(r"line:.+|port:\d{1,5}|")


def each_of(text: str) -> tuple[int, int | None]:
    """How many outputs an input has: "1" (1, 1), "0..1" (0, 1), "1.." (1, None). ValueError."""
    match = _EACH.fullmatch(text)
    if match is None or (match[3] and int(match[3]) < int(match[1])):
        raise ValueError('write a number, or a range as "0..1" or "1.."')
    least = int(match[1])
    return least, (int(match[3]) if match[3] else None) if match[2] else least


def _is_each(text: str) -> str:
    each_of(text)
    return text


def _is_id(text: str) -> str:
    if text and not _ID.fullmatch(text):
        raise ValueError(
            'write "json:/FIELD" (a JSON pointer), "key", "header:NAME" or "regex:…(…)…"'
        )
    if text.startswith("regex:"):
        try:
            re.compile(text.removeprefix("regex:"))
        except re.error as error:
            raise ValueError(f"the regular expression is wrong: {error}") from None
    return text


def _is_ready(text: str) -> str:
    if not _READY.fullmatch(text):
        raise ValueError('write "line:TEXT" or "port:NUMBER"')
    return text


def is_one(given: Any) -> Any:
    """What is not judged: outputs in several topics, and those of several inputs."""
    if isinstance(given, list | tuple):
        raise ValueError(
            "name one: outputs in several topics, and those of several inputs (aggregations, "
            "joins), are not judged"
        )
    return given


class ProgramPart(Part):
    """A program that runs beside the cluster: yours, or what it needs, such as a database, before
    it."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$",
            max_length=40,
            description="what it is called: its processes are `NAME-0`, `NAME-1`, …, which faults "
            "can name; so are all of them (`programs`) and one at random (`program`)",
            examples=["payments"],
        ),
    ]
    command: Annotated[
        Listed,
        Field(
            min_length=1,
            description="the command and its arguments, in the folder in which the harness is "
            "called; no shell reads it",
            examples=[["java", "-jar", "app.jar"]],
        ),
    ]
    count: Annotated[Count, Field(le=100, description="how many run", examples=[2])] = 1
    env: dict[str, str] = Field(
        default={},
        description="environment variables beside the harness's own",
        examples=[{"SPRING_KAFKA_BOOTSTRAP_SERVERS": "{bootstrap}"}],
    )
    ready: Annotated[
        str,
        AfterValidator(_is_ready),
        Field(
            description="when it is ready, and the next one starts: `line:TEXT`, once a line of "
            "its output has TEXT; `port:N`, once it listens there; empty: at once",
            examples=["line:Started"],
        ),
    ] = ""
    again: Annotated[
        Literal["always", "never"],
        Field(
            description="whether it is started again when it ends by itself, after 1, 2, 4 … 10 s",
            examples=["never"],
        ),
    ] = "always"


class OutputsPart(Part):
    """Where the programs' outputs are found, and what each input should have of them."""

    topic: Annotated[
        str,
        BeforeValidator(is_one),
        Field(description="the topic that they are sent to; the run makes it", examples=["paid"]),
    ] = ""
    command: Annotated[
        Listed,
        Field(
            strict=False,
            description="instead of a topic: a command that prints the id of each output, one a "
            "line, as a query of a database does; it runs once, after the drain",
            examples=[["psql", "-Atc", "select order_id from payment"]],
        ),
    ] = ()
    id: Annotated[
        str,
        BeforeValidator(is_one),
        AfterValidator(_is_id),
        Field(
            description="where an output of a topic has the `$value` of its input: `json:/FIELD` "
            "(a JSON pointer), `key`, `header:NAME` or `regex:…(…)…`, of the value",
            examples=["json:/order_id"],
        ),
    ] = ""
    each: Annotated[
        str,
        AfterValidator(_is_each),
        Field(description="how many outputs an input has", examples=["0..1"]),
    ] = "1"
    group: Annotated[
        str,
        Field(
            description="the consumer group by which the programs read the inputs: the drain ends "
            "once it has committed past all of them",
            examples=["payments"],
        ),
    ] = ""
    drain_s: Annotated[
        Length,
        Field(
            description="how long outputs are awaited after the load, at most: longer than a "
            "session (45 s) and a transaction (60 s, looked at each 10 s)",
            examples=[30],
        ),
    ] = 120.0
    quiet_s: Annotated[
        Length,
        Field(
            description="without `outputs.group`: the drain ends after so long without an output",
            examples=[5],
        ),
    ] = 15.0
    partitions: Annotated[Count, Field(description="of the topic", examples=[3])] = 1
    config: dict[str, Value] = Field(
        default={},
        description="the topic's settings; its replicas are as many as `[topic]` has",
        examples=[{"min.insync.replicas": 2}],
    )
