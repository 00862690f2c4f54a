"""Commands that help to write a scenario."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from harness.commands.options import console

PANEL = "Write a scenario"


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="NAME.toml is written here.")],
) -> None:
    """Write a commented scenario to start from.

    kafka-harness new what-if
    """
    from harness.commands.new import write_new

    write_new(name, console)


def schema() -> None:
    """Print the JSON Schema of scenario files, by which editors complete them.

    kafka-harness schema > scenario.schema.json
    """
    from harness.commands.new import schema_text

    sys.stdout.write(schema_text())


COMMANDS = (new, schema)
