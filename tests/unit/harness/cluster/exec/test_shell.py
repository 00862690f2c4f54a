"""A shell that is kept open: what it prints comes back whole, and its errors apart."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from harness.cluster.exec import shell
from harness.cluster.exec.shell import OpenShell
from harness.cluster.nodes import ClusterError


class HostProcesses:
    """A real shell at the other end of two pipes."""

    def __init__(self) -> None:
        self.shell = subprocess.Popen(
            shell.SHELL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.shell.stdin is not None
        assert self.shell.stdout is not None
        self._in, self._out = self.shell.stdin, self.shell.stdout
        os.set_blocking(self._out.fileno(), False)
        self._said, self._over = b"", False

    def send(self, line: str) -> None:
        self._in.write(f"{line}\n".encode())
        self._in.flush()

    def said(self) -> str:
        while more := self._out.read(7):  # in small pieces, as a network may give them
            self._said += more
        self._over = more == b""
        return self._said.decode()

    def over(self) -> bool:
        return self._over

    def close(self) -> None:
        self._in.close()
        self._out.close()
        assert self.shell.wait(timeout=10) is not None


@pytest.fixture
def shells() -> Iterator[list[HostProcesses]]:
    begun: list[HostProcesses] = []
    yield begun
    for each in begun:
        each.shell.kill()
        each.shell.wait()


@pytest.fixture
def there(shells: list[HostProcesses]) -> Iterator[OpenShell]:
    def reach() -> HostProcesses:
        shells.append(HostProcesses())
        return shells[-1]

    opened = OpenShell("zk1", reach)
    yield opened
    opened.close()


@pytest.mark.parametrize("text", ["", "a", "a\n", "\na\n\n", 'it\'s $HOME `x` \\ "y"\n'])
def test_what_a_command_prints_comes_back_as_it_was(there, text):
    assert there.run(["printf", "%s", text]) == text
    assert there.run(["printf", "%s", text]) == text


def test_one_shell_carries_out_all_commands(there, shells):
    assert ["1\n", "2\n"] == [there.run(["echo", text]) for text in "12"]
    assert 1 == len(shells)


def test_errors_are_no_output_and_the_last_line_of_a_failure_is_told(there):
    assert "out\n" == there.run(["sh", "-c", "echo warning >&2; echo out"])
    with pytest.raises(ClusterError, match=r"^zk1: sh: this is why$"):
        there.run(["sh", "-c", "echo so far; echo much >&2; echo this is why >&2; exit 3"])

    assert "still here\n" == there.run(["echo", "still here"])


def test_a_command_cannot_eat_the_commands_after_it(there):
    assert "" == there.run(["cat"])
    assert "next\n" == there.run(["echo", "next"])


def test_a_shell_that_ends_is_told_and_another_takes_its_place(there, shells):
    there.run(["true"])
    with pytest.raises(ClusterError, match="zk1: sh: the shell in the container has ended"):
        there.run(["sh", "-c", f"kill -9 {shells[0].shell.pid}"])

    assert "new\n" == there.run(["echo", "new"])
    assert 2 == len(shells)


def test_a_shell_that_has_said_much_makes_room_for_another(there, shells):
    long = "x" * (shell.ENOUGH + 1)

    assert long == there.run(["sh", "-c", f"head -c {len(long)} /dev/zero | tr '\\0' x"])
    assert "y\n" == there.run(["echo", "y"])
    assert 2 == len(shells)
    assert 0 == shells[0].shell.wait(timeout=10)


def test_closing_ends_the_shell(there, shells):
    there.run(["true"])
    there.close()
    there.close()

    assert 0 == shells[0].shell.wait(timeout=10)
