"""A program of ours beside a node in a container, as a process of this host.

    python -m harness.cluster.docker.exec_process PROJECT SERVICE ARGV…

Prints what the program prints. At TERM, or when this process ends in any way, the program's input
ends, and then its sidecar ends it (harness/cluster/sidecar/sidecar.sh, `beside`).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from types import FrameType

from harness.cluster.docker.engine import Engine, connect
from harness.cluster.sidecar import heartbeat


def main(argv: Sequence[str]) -> None:
    """Stay attached until the program has ended."""
    project, service, *program = argv
    stream = Engine(connect(), project).exec_stream(service, heartbeat.command("beside", *program))

    def end(_: int, __: FrameType | None) -> None:
        stream.end()

    signal.signal(signal.SIGTERM, end)
    for text in stream.until_the_end():
        sys.stdout.write(text)
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
