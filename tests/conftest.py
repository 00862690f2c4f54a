"""Fixtures that tests share: one Spark session, checks of every told story, started workers.

A test that starts a JVM has the mark `jvm`, one that starts a browser `browser`: `make unit` leaves
both out. The mark is given by hand, or here to whoever uses Spark; without it neither starts.

A test that uses Spark may be the first that needs the session, or has hundreds of stories checked
for others: its timeout counts what it does itself, as wherever fixtures are shared (`func_only`).
What these take has a bound of its own, by which nothing ends but what hangs.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.no_jvm import no_jvm
from tests.support.story_runs import CheckedStories
from tests.support.worker_processes import Starter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FIXTURES_S = 3600  # to set up, or to tear down, all that a test shares with others
# Of the JVM that lives for hundreds of tests: as one for a single check it would spend a fifth of
# its time on keeping its heap small and on making room for compiled code.
LONG_LIVED = "-Xms1g -XX:ReservedCodeCacheSize=192m"
STDERR = pytest.StashKey[int]()
marks: set[str] = set()  # of the test that runs now


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever uses Spark starts its JVM; who asks for the report of a story is marked, too, and
    whose stories are tables: so many that two processes which use Spark have as much to do."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "spark" in fixtures:
            item.add_marker("jvm")
            item.add_marker(pytest.mark.timeout(func_only=True))
        of_tables = item.path.parent.name == "tables" and item.get_closest_marker("jvm")
        if "stories" in fixtures or of_tables:
            item.add_marker("stories")


def pytest_configure(config: pytest.Config) -> None:
    """Watch every program that a test itself starts."""
    config.stash[STDERR] = os.dup(2)  # nothing is captured yet
    sys.addaudithook(_refuse_without_mark)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Keep the running test's marks."""
    marks.update(mark.name for mark in item.iter_markers())
    result = yield
    marks.clear()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Start no JVM without the mark; a test on a cluster may start anything."""
    with _bounded(item), _without_jvm():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """The same, in a time that pytest-timeout bounds."""
    with _without_jvm():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """End what hangs."""
    with _bounded(item):
        return (yield)


def _without_jvm() -> AbstractContextManager[None]:
    return nullcontext() if marks & {"jvm", "cluster"} else no_jvm()


@contextmanager
def _bounded(item: pytest.Item) -> Iterator[None]:
    """What hangs ends with its process, as a test does by pytest-timeout's method `thread`: xdist
    replaces it."""
    mark = item.get_closest_marker("timeout")
    if mark is None or not mark.kwargs.get("func_only"):
        yield
        return
    faulthandler.dump_traceback_later(FIXTURES_S, exit=True, file=item.config.stash[STDERR])
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _refuse_without_mark(event: str, args: tuple[Any, ...]) -> None:
    if event != "subprocess.Popen" or marks & {"browser", "cluster"}:
        return
    program = os.fsdecode(args[0])
    if Path(program).name == "chromedriver":
        raise RuntimeError(f"{program} is started by a test without pytest.mark.browser")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session; starting it costs more than all checks together."""
    from analysis.spark.session import session  # noqa: PLC0415  most tests need no Spark

    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as started:
            started.setenv("JAVA_TOOL_OPTIONS", LONG_LIVED)
            active = stack.enter_context(session(operations=0))
        yield active


@pytest.fixture(scope="session")
def stories(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> CheckedStories:
    """The stories of the tests that were selected, each checked before its test."""
    told = {
        item.nodeid: item.function.story
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item.function, "story")
    }
    return CheckedStories(told, tmp_path_factory.mktemp("stories"))


@pytest.fixture
def report(request: pytest.FixtureRequest, stories: CheckedStories) -> dict[str, Any]:
    """What the check says of the test's own story."""
    return stories.of(request.node.nodeid)[0]


@pytest.fixture
def run_folder(request: pytest.FixtureRequest, stories: CheckedStories) -> Path:
    """The folder of the test's own story, checked."""
    return stories.of(request.node.nodeid)[1]


@pytest.fixture(scope="session")
def golden_runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All golden runs in a folder, checked as anybody checks them. No test changes them."""
    from tests.baseline.golden_reports import check_golden_runs  # noqa: PLC0415  as above

    check_golden_runs(folder := tmp_path_factory.mktemp("golden"))
    return folder


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Starts workers of one run, and ends those that are left."""
    starter = Starter(tmp_path / "run")
    yield starter
    for process in starter.processes:
        process.kill()
        process.communicate()
