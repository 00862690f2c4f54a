"""Commands about this machine."""

from __future__ import annotations

import typer

from harness.command_lines.options import console

PANEL = "This host"


def doctor() -> None:
    """Say what this host can and cannot do, and the remedy for each.

    kafka-harness doctor | grep -v "  ok  "
    """
    from harness.commands.doctor import show_host

    raise typer.Exit(show_host(console))


COMMANDS = (doctor,)
