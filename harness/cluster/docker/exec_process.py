"""A program of ours beside a node in a container, as a process of this host.

    python -m harness.cluster.docker.exec_process PROJECT SERVICE ARGV…

Prints what the program prints. At TERM, or when this process ends in any way, the program's input
ends, and its sidecar ends it (harness/cluster/exec/sidecar.sh, `beside`).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from types import FrameType

from harness.cluster.docker.engine import Engine, connect
from harness.cluster.exec import sidecar


def main(argv: Sequence[str]) -> None:
    """Stay attached until the program has ended."""
    project, service, *program = argv
    connection = Engine(connect(), project).attach(service, sidecar.command("beside", *program))

    def end(_: int, __: FrameType | None) -> None:
        connection.end()

    signal.signal(signal.SIGTERM, end)
    for text in connection.until_the_end():
        sys.stdout.write(text)
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
