"""kafka-harness new and schema: writes a commented scenario to start from, and its JSON Schema.

`new NAME` writes NAME.toml into the working directory, and beside it the schema that its first line
names. Neither overwrites a file.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import console

SCHEMA = "kafka-harness.schema.json"  # as the first line of the starting file has it
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
TAKEN = ("latest",)  # the link to the newest run, in results/


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="NAME.toml is written here.")],
    application: Annotated[
        bool,
        typer.Option("--application", help="One that judges the outputs of a program of yours."),
    ] = False,
) -> None:
    """Write a commented scenario to start from.

    kafka-harness new what-if
    """
    from harness.model.scenario import ScenarioError
    from harness.scenario.file import shipped

    name = name.removesuffix(".toml")
    if not NAME.fullmatch(name):
        raise ScenarioError(
            f"new {name!r}: a name has letters, digits, '.', '-' and '_' only, and the file is "
            "written into the current folder: choose another"
        )
    if name in shipped() or name in TAKEN:
        raise ScenarioError(f"new {name}: this name is taken by the harness: choose another")
    file = Path(f"{name}.toml")
    _write(file, _resource("application.toml" if application else "starting_point.toml"))
    console.print(f"{file} written; next: kafka-harness show {shlex.quote(str(file))}")
    schema = Path(SCHEMA)
    if not schema.exists():
        _write(schema, _resource("scenario.schema.json"))
        console.print(f"{schema} written: editors complete and check scenarios by it")
    elif schema.read_bytes() != _resource("scenario.schema.json").encode():
        console.print(
            f"note: {schema} is another release's: kafka-harness schema > {schema}", style="yellow"
        )


def schema() -> None:
    """Print the JSON Schema of scenario files, by which editors complete them.

    kafka-harness schema > scenario.schema.json
    """
    sys.stdout.write(_resource("scenario.schema.json"))


def _resource(name: str) -> str:
    from importlib.resources import files

    return (files("harness.scenario") / name).read_text(encoding="utf-8")


def _write(file: Path, text: str) -> None:
    """Write a new file."""
    from harness.model.scenario import ScenarioError

    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise ScenarioError(f"{file}: already exists: choose another name, or remove it") from None
    except OSError as error:
        raise ScenarioError(f"{file}: cannot be written: {error.strerror}") from None
