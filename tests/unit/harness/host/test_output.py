"""A reader that has seen enough: real pipes, closed at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from harness.checkout import ROOT
from harness.host.output import print_table
from harness.setup.host_finding import HostFinding, render
from tests.support.commands import COMMAND

GOLDEN = ROOT / "tests" / "golden" / "leader-stopped"


def unread(argv: list[str], *, errors_too: bool = False) -> tuple[int, str]:
    """The exit code of a command whose output nobody reads, and what it says on stderr."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing if errors_too else subprocess.PIPE,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writing)
    return done.returncode, (done.stderr or b"").decode()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["scenarios"],
        ["show", "study-1"],
        ["history", str(GOLDEN)],
        ["export", "--format", "jepsen", str(GOLDEN)],
    ],
    ids=" ".join,
)
def test_a_command_that_only_shows_ends_quietly_with_0(arguments: list[str]) -> None:
    assert (0, "") == unread([*COMMAND, *arguments])


def test_its_exit_code_is_its_own(tmp_path: Path) -> None:
    """The twin: what is wrong stays wrong, on stderr too."""
    code, said = unread([*COMMAND, "check", str(tmp_path)])

    assert code == 254
    assert "no run there" in said
    assert (254, "") == unread([*COMMAND, "check", str(tmp_path)], errors_too=True)


@pytest.mark.jvm
def test_a_check_without_a_reader_writes_its_report_and_tells_the_verdict(tmp_path: Path) -> None:
    run = shutil.copytree(GOLDEN, tmp_path / "run")

    code, said = unread([*COMMAND, "check", str(run), "--results", str(tmp_path)])

    assert (0, "") == (code, said)
    assert (run / "report.json").exists()


CHILDREN = """
import subprocess, sys
from harness.host.output import outlive_readers, unread
outlive_readers()
print("to nobody", flush=True)
assert unread()
subprocess.run([sys.executable, "-c", "print('neither')"], check=True)
print("still here", flush=True)
sys.exit(7)
"""


def test_who_prints_into_nothing_goes_on_and_so_do_its_children() -> None:
    assert (7, "") == unread([sys.executable, "-c", CHILDREN])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_below_the_output_is_told_and_fails_in_the_end() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "scenarios"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )

    assert done.returncode == 255
    assert b"standard output could not be written (No space left on device)" in done.stderr


# --- tables


def test_a_table_has_no_blanks_at_its_end_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = Table("a", "b", box=None, pad_edge=False)
    table.add_row("1", "2")
    table.add_row("1", "long")

    print_table(Console(width=200), table)

    assert capsys.readouterr().out == "a  b\n1  2\n1  long\n"


def test_what_the_doctor_found_is_a_line_each_where_it_is_piped() -> None:
    found = [
        HostFinding(name="strace", status="unavailable", detail="x " * 99, remedy="mend it"),
        HostFinding(name="ip", status="ok", detail="/sbin/ip"),
    ]
    console = Console(width=10_000)

    with console.capture() as piped:
        console.print(render(found, apart="; "))
    with console.capture() as shown:
        console.print(render(found))

    assert len(piped.get().splitlines()) == 2
    assert "; needed for the local backend; mend it" in piped.get()
    assert len(shown.get().splitlines()) == 4
