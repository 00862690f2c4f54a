"""An import that fails, or is interrupted, leaves the results folder as it was; each with the twin
that stays."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.foreign import imported_run
from harness.foreign.new_folder import new_folder
from harness.model.runs import run_folder
from harness.model.runs.run_folder import RunFolder, StoreError
from tests.support.foreign_lines import acked, imported, write_lines


def inside(results: Path) -> dict[str, str | None]:
    """Everything below a folder, links with where they lead."""
    return {
        str(path.relative_to(results)): str(path.readlink()) if path.is_symlink() else None
        for path in results.rglob("*")
    }


@pytest.fixture(autouse=True)
def of_python() -> Iterator[None]:
    """Ctrl-C as a command meets it: a Spark session of other tests has a handler of its own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=["nothing", "a run of this name", "a run of another name"])
def results(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A results folder, with what was there before."""
    made = tmp_path / "below" / "results"
    if request.param != "nothing":
        begun(made, "imported" if "this" in request.param else "other")
    return made


def begun(results: Path, name: str = "imported") -> RunFolder:
    """A run that stays."""
    with new_folder(results, name) as run:
        return run


def fill_and_fail(run: RunFolder, error: type[BaseException]) -> None:
    (run.history / "operations").mkdir()
    (run.history / "operations" / "p.parquet").write_text("half")
    raise error


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("error", [KeyboardInterrupt, StoreError, MemoryError])
def test_whatever_fails_while_it_is_filled_leaves_nothing(results, error):
    before = inside(results)

    with pytest.raises(error), new_folder(results, "imported") as run:
        fill_and_fail(run, error)

    assert before == inside(results)
    assert bool(before) == results.parent.exists()


def test_what_does_not_fail_stays_and_is_the_latest(results):
    before = inside(results)

    run = begun(results)

    assert run.path.is_dir()
    assert run.path == (results / "latest").resolve() == (results / "imported/latest").resolve()
    assert before.keys() < inside(results).keys()


def test_ctrl_c_while_the_folder_is_made_waits_until_it_can_be_undone(results, monkeypatch):
    before = inside(results)
    link = run_folder._link

    def slow(*args: Any) -> None:
        interrupt()
        link(*args)

    monkeypatch.setattr(run_folder, "_link", slow)
    with pytest.raises(KeyboardInterrupt), new_folder(results, "imported"):
        pytest.fail("it goes on")

    assert before == inside(results)
    assert signal.default_int_handler is signal.getsignal(signal.SIGINT)


def test_ctrl_c_while_it_is_undone_waits_until_it_is(results, monkeypatch):
    before = inside(results)
    rmtree = shutil.rmtree

    def slow(*args: Any, **kwargs: Any) -> None:
        interrupt()
        rmtree(*args, **kwargs)

    monkeypatch.setattr("harness.foreign.new_folder.shutil.rmtree", slow)
    with pytest.raises(KeyboardInterrupt), new_folder(results, "imported"):
        raise StoreError("it cannot be written")

    assert before == inside(results)


def test_a_folder_that_cannot_be_made_is_no_half_of_one(results):
    (results / "latest").unlink(missing_ok=True)
    (results / "latest").mkdir(parents=True)  # no link can be put in its place
    before = inside(results)

    with pytest.raises(StoreError), new_folder(results, "imported"):
        pytest.fail("it goes on")

    assert before == inside(results)


def test_the_link_of_a_run_that_was_begun_since_is_left_to_it(tmp_path):
    with pytest.raises(KeyError), new_folder(tmp_path, "imported"):
        fill_and_fail(begun(tmp_path), KeyError)

    [other] = (tmp_path / "imported").glob("2*")
    assert other == (tmp_path / "latest").resolve() == (tmp_path / "imported/latest").resolve()


def test_an_import_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    file = write_lines(tmp_path / "p.jsonl", [acked(1, "a", 0)])
    monkeypatch.setattr(imported_run, "_write_small_tables", lambda *_: interrupt())

    with pytest.raises(KeyboardInterrupt):
        imported(tmp_path / "results", file)

    assert not (tmp_path / "results").exists()
