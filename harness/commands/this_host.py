"""Commands about this machine: what it can do, and what is made once on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import RESULTS, Kafka, KafkaHome, Results, Unpinned, console

PANEL = "This host"


def doctor() -> None:
    """Say what this host can and cannot do, and the remedy for each.

    kafka-harness doctor | grep -v "  ok  "
    """
    from harness.commands.host.setup import show_host

    raise typer.Exit(show_host(console))


def setup(kafka: Kafka = "", unpinned: Unpinned = False) -> None:
    """Install what runs need beside the harness: system packages, Kafka's jars, class archives.

    Another release than 3.9 is fetched when a run asks for it, or here.

    kafka-harness setup

    kafka-harness setup --kafka 4.4
    """
    from harness.commands.host.setup import install_missing

    raise typer.Exit(install_missing(kafka, console, unpinned_too=unpinned))


def image(kafka: Kafka = "", kafka_home: KafkaHome = None) -> None:
    """Make an image of Kafka, and ZooKeeper, for docker and Kubernetes, without a registry.

    kafka-harness image

    kafka-harness image --kafka 4.4
    """
    from harness.commands.host.setup import make_image

    raise typer.Exit(make_image(kafka, kafka_home, console))


def harness_image(
    wheel: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, dir_okay=False, help="The harness's wheel file."),
    ] = None,
) -> None:
    """Make the harness's own image, for runs inside Kubernetes, without a registry.

    kafka-harness harness-image
    """
    from harness.commands.host.setup import make_harness_image

    raise typer.Exit(make_harness_image(wheel, console))


def prune(
    keep_days: Annotated[
        float, typer.Option(metavar="N", min=0, help="Runs that began before that many days go.")
    ],
    keep_failed: Annotated[
        bool, typer.Option("--keep-failed", help="Keep all that are not valid, however old.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    results: Results = RESULTS,
) -> None:
    """Remove old runs; campaigns' ledgers stay.

    kafka-harness prune --keep-days 30 --keep-failed
    """
    from harness.commands.host.prune import Keep, prune

    keep = Keep(days=keep_days, failed=keep_failed)
    raise typer.Exit(prune(results, keep, dry=dry_run, console=console))


COMMANDS = (prune, doctor, setup, image, harness_image)
