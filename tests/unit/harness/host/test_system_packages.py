"""A program that is not there is named, with the command that installs it."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.checkout import ROOT
from harness.cluster.local import network
from harness.cluster.nodes import ClusterError
from harness.host import system_packages
from harness.host.machine import HostError
from tests.support.commands import called
from tests.support.needs import needs

STORED = ROOT / "tests" / "golden" / "leader-stopped"


@pytest.mark.parametrize(
    ("lacks", "arguments"),
    [
        ("chmod", ["check", "RUN"]),
        ("mount", ["run", "baseline", "--results", "RESULTS"]),
        ("unshare", ["run", "baseline", "--results", "RESULTS"]),
        ("setpriv", ["up", "baseline", "--", "true"]),
    ],
)
def test_a_missing_program_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str, arguments: list[str]
) -> None:
    """The PATH is one folder of links, to all programs but one."""
    if lacks != "chmod":  # which is looked for alone
        needs("namespaces")
    folder, results = tmp_path / "bin", tmp_path / "results"
    folder.mkdir()
    for each in (Path(place) for place in ("/usr/local/bin", "/usr/bin", "/bin")):
        for program in each.iterdir():
            link = folder / program.name
            if program.name != lacks and not link.is_symlink():
                link.symlink_to(program)
    monkeypatch.setenv("PATH", str(folder))
    run = shutil.copytree(STORED, tmp_path / "run")
    words = {"RUN": str(run), "RESULTS": str(results)}

    done = called(*(words.get(word, word) for word in arguments))

    assert 255 == done.code, done.out + done.err
    assert f"the program {lacks} is in no folder of PATH" in done.err
    assert "install" in done.err
    assert 1 == len(done.err.strip().splitlines())
    assert not results.exists()


def test_what_is_there_is_not_asked_for() -> None:
    system_packages.require(["sh"])
    with pytest.raises(HostError, match="the program no-such is in no folder of PATH"):
        system_packages.require(["sh", "no-such"])


def test_a_program_of_a_fault_is_named_when_it_is_called() -> None:
    with pytest.raises(ClusterError, match="the program no-such is in no folder of PATH"):
        network.run(["no-such", "-x"])


def test_a_file_that_is_not_there_is_no_program() -> None:
    missing = FileNotFoundError(2, "No such file or directory", "/proc/no/such")

    assert system_packages.if_a_program(missing) is None
    assert "strace" in str(system_packages.if_a_program(FileNotFoundError(2, "no", "strace")))


@pytest.fixture
def at_the_usual_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """What listens at the socket where clients look for a Docker engine; DOCKER_HOST is unset."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(system_packages, "DOCKER_SOCKET", str(tmp_path / "docker.sock"))
    with socket.socket(socket.AF_UNIX) as listens:
        listens.bind(system_packages.DOCKER_SOCKET)
        yield listens


def test_an_engine_at_the_usual_socket_needs_no_docker_host(
    at_the_usual_socket: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer() -> None:
        with at_the_usual_socket.accept()[0] as asked:
            asked.recv(100)
            asked.sendall(b"HTTP/1.0 200 OK\r\n\r\nOK")

    at_the_usual_socket.listen()
    engine = threading.Thread(target=answer, daemon=True)
    engine.start()

    assert f"unix://{system_packages.DOCKER_SOCKET}" == system_packages.docker_host()
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere")
    assert "tcp://elsewhere" == system_packages.docker_host()


@pytest.mark.usefixtures("at_the_usual_socket")
def test_a_socket_that_no_engine_serves_any_more_is_none() -> None:
    assert system_packages.docker_host() is None
