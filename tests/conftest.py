"""Fixtures that tests share: one Spark session, one check of every told story, started workers.

A test that starts a JVM has the mark `jvm`, one that starts a browser `browser`: `make unit` leaves
both out. The mark is given by hand, or here to whoever uses Spark; without it neither starts.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support import told_runs
from tests.support.worker_processes import Starter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MADE_UP = tempfile.gettempdir()  # where tests put a java of their own
NEEDS_MARK = {"java": "jvm", "spark-submit": "jvm", "chromedriver": "browser"}
ROOMS = {"tests/live/": "clusters", "tests/unit/analysis/": "checker", "tests/baseline/": "checker"}
marks: set[str] = set()  # of the test that runs now


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever uses Spark starts its JVM. Tests on clusters come last, one after the other, and of
    these the ones in pods: what they run on may still be being built."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("jvm")
    items.sort(key=lambda item: (*map(item.path.parts.__contains__, ("live", "kubernetes")),))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Who shares a process in `make test`; any other `--dist` is xdist's own."""
    return Rooms(config, log) if config.getvalue("dist") == "loadscope" else None


class Rooms(LoadScopeScheduling):  # type: ignore[misc]  # xdist tells no types
    """All on clusters run in one process, one after the other; all of the checker in one, which has
    the one Spark session; else each file in any. By the path: marks are not known here, and
    `--dist loadgroup` groups nothing with pytest 9.2 (pytest-xdist issue 1386)."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return next((room for path, room in ROOMS.items() if file.startswith(path)), file)


def pytest_configure() -> None:
    """Watch every program that a test itself starts."""
    sys.addaudithook(_refuse_without_mark)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Keep the running test's marks; a test on a cluster may start anything."""
    marks.update(mark.name for mark in item.iter_markers())
    result = yield
    marks.clear()
    return result


def _refuse_without_mark(event: str, args: tuple[Any, ...]) -> None:
    if event != "subprocess.Popen" or "cluster" in marks:
        return
    program = shutil.which(os.fsdecode(args[0]))  # None: it will not start anyway
    mark = NEEDS_MARK.get(Path(program).name) if program else None
    if program and mark and mark not in marks and not program.startswith(MADE_UP):
        raise RuntimeError(f"{program} is started by a test without pytest.mark.{mark}")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session; starting it costs more than all checks together."""
    from analysis.spark.session import session  # noqa: PLC0415  most tests need no Spark

    with session(operations=0) as active:
        yield active


@pytest.fixture(scope="session")
def reports(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[dict[str, Any], Path]]:
    """The report and folder of every story of the tests that were selected, from one Spark job."""
    from analysis import job  # noqa: PLC0415
    from analysis.report import page  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("stories")
    told = {
        item.nodeid: item.function.story
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item.function, "story")
    }
    paths = [
        told_runs.write(story, folder / str(number), f"told/{number}")
        for number, story in enumerate(told.values())
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "render", lambda *_: "")  # megabytes a story, and none looks at it
        checked = zip(job.check(paths), paths, strict=True)
        return dict(zip(told, checked, strict=True))


@pytest.fixture
def report(
    request: pytest.FixtureRequest, reports: dict[str, tuple[dict[str, Any], Path]]
) -> dict[str, Any]:
    """What the check says of the test's own story."""
    return reports[request.node.nodeid][0]


@pytest.fixture
def run_folder(
    request: pytest.FixtureRequest, reports: dict[str, tuple[dict[str, Any], Path]]
) -> Path:
    """The folder of the test's own story, checked."""
    return reports[request.node.nodeid][1]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Starts workers of one run, and ends those that are left."""
    starter = Starter(tmp_path / "run")
    yield starter
    for process in starter.processes:
        process.kill()
        process.communicate()
