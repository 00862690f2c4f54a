"""kafka-harness: with this configuration, when this breaks, what does Kafka lose, what does it
duplicate, and for how long is it down?

Real ZooKeepers and brokers, real faults, every send and read recorded, checked by Spark.

Exit codes: 0 valid, 1 invalid, 2 unknown, 254 bad arguments or scenario,
255 the harness or the cluster failed (an unexpected error too), 130 or 143 interrupted.
Several runs exit with the worst code: 1 before 255 before 2 before 0.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import Annotated, Final

import typer
from rich.console import Console
from typer.exceptions import TyperException

from harness.commands.campaigns.campaign import campaign
from harness.commands.campaigns.compare import compare
from harness.commands.check import check
from harness.commands.fault import fault
from harness.commands.heal import heal
from harness.commands.host.prune import prune
from harness.commands.host.setup import doctor, harness_image, image, setup
from harness.commands.import_ import import_
from harness.commands.look_at.docs import docs
from harness.commands.look_at.export import export, history
from harness.commands.look_at.index import index
from harness.commands.look_at.report import report
from harness.commands.look_at.scenarios import scenarios
from harness.commands.look_at.show import show
from harness.commands.look_at.sql import sql
from harness.commands.new import new, schema
from harness.commands.run import run
from harness.commands.up import up
from harness.host.output import outlive_readers, unkept
from harness.model import exit_codes
from harness.run.interrupts import resend_lost_signals


def _tell_version(asked: bool) -> None:
    from harness import release

    if asked:
        sys.stdout.write(f"{release.described()}\n")
        raise typer.Exit


app = typer.Typer(
    name="kafka-harness",
    help=__doc__,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _of_all(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Release, commit and files."
        ),
    ] = False,
) -> None:
    """What every command knows."""


PANELS: Final = {
    "Run and judge": (run, check, campaign, import_),
    "Look at": (scenarios, show, report, index, sql, export, history, docs, compare),
    "Write a scenario": (new, schema),
    "Clusters": (up, fault, heal),
    "This host": (prune, doctor, setup, image, harness_image),
}
for panel, commands in PANELS.items():
    for command in commands:
        name = command.__name__.rstrip("_").replace("_", "-")  # `import` is Python's own word
        app.command(name, rich_help_panel=panel)(command)


def main() -> None:
    """Run the command; any error becomes one sentence on stderr and its exit code."""
    outlive_readers()
    try:
        code = app(standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = exit_codes.interrupted(signal.SIGINT)
    except Exception as error:
        sentence, code = _sentence_and_code(error)
        _say_error(sentence)
    if (lost := unkept()) is not None:
        _say_error(f"standard output could not be written ({lost.strerror}): some of it is missing")
        code = exit_codes.FAILED if code in (None, exit_codes.VALID, exit_codes.UNKNOWN) else code
    sys.exit(code)


def program() -> None:
    """`main` as a process of its own, which ends without unloading a thousand modules: that takes a
    quarter of a second."""
    resend_lost_signals(KeyboardInterrupt, lambda _: signal.SIGINT, lambda: None)
    last = _Last()
    atexit.register(last.leave)  # registered first, called last
    try:
        main()
    except SystemExit as ended:
        last.code = ended.code
        raise


class _Last:
    """Ends the process, after all other exit functions."""

    def __init__(self) -> None:
        self.code: object = None

    def leave(self) -> None:
        if isinstance(self.code, int):
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):  # nobody reads any more
                    stream.flush()
            os._exit(self.code)


def _sentence_and_code(error: Exception) -> tuple[str, int]:
    """An error's sentence and its exit code."""
    from harness.cluster.nodes import ClusterError
    from harness.config_files.settings import ConfigFileError
    from harness.history.sealing import HistoryError
    from harness.host import unforeseen
    from harness.host.machine import HostError
    from harness.model.runs.disk import DiskError
    from harness.model.runs.run_folder import StoreError
    from harness.model.scenario import ScenarioError

    match error:
        case TyperException():  # a wrong option, a missing argument…
            sentence = f"{error.format_message()} (see `kafka-harness --help`)"
            return sentence, exit_codes.BAD_ARGUMENTS
        case ScenarioError() | ConfigFileError() | StoreError() | HistoryError():
            return str(error), exit_codes.BAD_ARGUMENTS
        case HostError() | ClusterError() | DiskError():
            return str(error), exit_codes.FAILED
    return unforeseen.sentence_of(error, sys.argv[1:]), exit_codes.FAILED


def _say_error(sentence: str) -> None:
    from harness.run.progress import Screen

    with suppress(Exception):  # if nothing can be printed, the exit code remains
        Screen(Console(stderr=True, highlight=False, soft_wrap=True)).error(sentence)


if __name__ == "__main__":
    program()
