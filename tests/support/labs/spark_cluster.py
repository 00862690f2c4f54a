"""A standalone Spark cluster of several worker processes, each in a mount namespace of its own.

    spark/       Spark's jars, mounted there: all that a worker has
    hidden       each of these folders is an empty one to workers, and so to their executors: the
                 project, its packages (NumPy, PyArrow, PySpark itself), the results

Each worker is pid 1 of a pid namespace, so that its executors end with it; it ends when this
process does.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.host.java import find_java
from harness.waiting import wait_until
from tests.support.host_pace import bound_s
from tests.support.labs.stores import SPARK

HOST = "127.0.0.1"
MEMORY = "700m"
START_LIMIT_S = 60
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKS = re.compile(r"(Successfully registered with master)")
_NAMESPACES = (
    *("setpriv", "--pdeathsig", "KILL", "unshare", "--user", "--map-root-user", "--mount"),
    *("--pid", "--mount-proc", "--fork", "--kill-child"),
)
# Mount, hide, look, go: whoever can still see something does not start.
_WORKER = """
set -euf
IFS='
'
mount --bind "$SPARK" "$SPARK_HOME"
for folder in $HIDDEN; do mount -t tmpfs none "$folder"; done
for folder in $HIDDEN; do test -z "$(ls -A "$folder")"; done
exec "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCluster:
    """A cluster that runs."""

    master: str  # spark://127.0.0.1:44321
    workers: Sequence[Path]  # the folder of each, with one for each application

    def executors(self) -> list[int]:
        """How many executors each worker has had."""
        return [len(list(folder.glob("app-*/*"))) for folder in self.workers]


@contextlib.contextmanager
def standalone(folder: Path, *, workers: int, hidden: Sequence[Path]) -> Iterator[SparkCluster]:
    """A master and so many workers of one core, all on this host."""
    with contextlib.ExitStack() as stack:
        daemon = [str(find_java().path), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        master = stack.enter_context(
            _started(
                [
                    *("setpriv", "--pdeathsig", "KILL", *daemon, "-cp", f"{SPARK}/jars/*"),
                    "org.apache.spark.deploy.master.Master",
                    *("--host", HOST, "--port", "0", "--webui-port", "0"),
                ],
                folder / "master.log",
                SPARK,
            )
        )
        url = _found(_MASTER, master)
        works, logs = [], []
        for number in range(workers):
            home, work = folder / f"spark-{number}", folder / f"work-{number}"
            home.mkdir()
            works.append(work)
            start = [
                *_NAMESPACES,
                *("sh", "-c", _WORKER, "worker", *daemon, "-cp", f"{home}/jars/*"),
                "org.apache.spark.deploy.worker.Worker",
                *("--host", HOST, "--webui-port", "0", "--work-dir", str(work)),
                *("--cores", "1", "--memory", MEMORY, url),
            ]
            log = folder / f"worker-{number}.log"
            logs.append(stack.enter_context(_started(start, log, home, hidden)))
        for log in logs:
            _found(_WORKS, log)
        yield SparkCluster(master=url, workers=works)


@contextlib.contextmanager
def _started(
    command: Sequence[str], log: Path, home: Path, hidden: Sequence[Path] = ()
) -> Iterator[Path]:
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "SPARK": str(SPARK),
        "SPARK_SCALA_VERSION": "2.13",  # as Spark's own scripts tell it
        "SPARK_HOME": str(home),
        "HIDDEN": "\n".join(map(str, outermost(hidden))),
    }
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment
        )
    try:
        yield log
    finally:
        process.kill()
        process.wait()


def _found(words: re.Pattern[str], log: Path) -> str:
    """What a log says, once it does."""
    found = wait_until(
        lambda: words.search(log.read_text()),
        timeout_s=bound_s(START_LIMIT_S),
        what=f"{words} in {log}",
    )
    assert found is not None
    return found[1]


def outermost(folders: Sequence[Path]) -> list[Path]:
    """Those that lie in no other one."""
    real = {folder.resolve() for folder in folders}
    return sorted(one for one in real if not real.intersection(one.parents))
