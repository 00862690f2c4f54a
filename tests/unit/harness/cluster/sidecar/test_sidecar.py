"""The dead man's timer: when the harness is heard no more, its faults are undone and nothing else.

sidecar.sh runs here as it does in a node's sidecar, on real rules, in private namespaces.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.nodes import ClusterError
from harness.cluster.sidecar import heartbeat
from harness.host.machine import is_stopped
from harness.host.namespaces import UNSHARE
from harness.waiting import wait_until
from tests.support.needs import needs

RULES = """
iptables -N OTHERS && iptables -A INPUT -j OTHERS
iptables -N HARNESS-3 && iptables -A HARNESS-3 -s 10.0.0.1 -j DROP && iptables -I INPUT -j HARNESS-3
iptables -N HARNESS-4-OUT && iptables -I OUTPUT -j HARNESS-4-OUT
iptables -t mangle -N HARNESS-5 && iptables -t mangle -I INPUT -j HARNESS-5
"""
SHOW = "\necho RULES; iptables -S; iptables -t mangle -S"
ACTED = "until [ -e $KAFKA_HARNESS_FOLDER/acted ]; do sleep 0.2; done"


def inside(script: str, folder: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """A script in a network of its own, where $SIDECAR is the sidecar's command."""
    needs("namespaces")
    environment = {**os.environ, "KAFKA_HARNESS_FOLDER": str(folder), "SIDECAR": heartbeat.SCRIPT}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [*UNSHARE, "sh", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **more,
    )
    return done


def call(*words: str) -> str:
    return 'sh -c "$SIDECAR" sidecar ' + " ".join(words)


def test_when_the_line_is_dead_chains_of_ours_go_and_others_stay(tmp_path):
    watch = f"echo beat | {call('watch', '30')}\n{ACTED}"
    said, rules = inside(RULES + watch + SHOW, tmp_path).stdout.split("RULES")

    assert "ready" in said
    assert "-A INPUT -j OTHERS" in rules
    assert "HARNESS" not in rules
    assert "removed chain HARNESS-4-OUT of table filter" in (tmp_path / "log").read_text()


def test_silence_is_death_too(tmp_path):
    watch = f"(sleep 30) | {call('watch', '1')} &\n{ACTED}"

    assert "HARNESS" not in inside(RULES + watch + SHOW, tmp_path).stdout.split("RULES")[1]


def test_as_long_as_it_beats_nothing_is_undone_and_an_orderly_end_undoes_nothing(tmp_path):
    beats = "(for i in 1 2 3 4 5 6 7 8; do echo beat; sleep 0.5; done; echo end)"
    done = inside(f"{RULES} {beats} | {call('watch', '3')}; sleep 2 {SHOW}", tmp_path)

    assert "-A INPUT -j HARNESS-3" in done.stdout
    assert not (tmp_path / "acted").exists()


def test_undo_is_refused_while_a_harness_is_heard(tmp_path):
    watch = f"(sleep 3; echo end) | {call('watch', '30')} &"
    done = inside(f"{RULES} {watch} sleep 1; {call('undo')}; echo exit $?; wait", tmp_path)

    assert "exit 3" in done.stdout
    assert "a harness is still connected" in done.stderr


def changed_script(script: str, word: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """sidecar.sh, changed for a test, carries out one of its commands on this host."""
    return subprocess.run(
        ["sh", "-c", script, "sidecar", word],
        env={**os.environ, "KAFKA_HARNESS_FOLDER": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_undo_resumes_what_is_listed_and_says_so(tmp_path):
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        os.kill(sleeper.pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(sleeper.pid), timeout_s=10, what="it to stop")
        (tmp_path / "stopped").write_text(f"{sleeper.pid}\n")
        script = heartbeat.SCRIPT.replace("choose_iptables\n    undo", "undo")  # no rules here
        done = changed_script(script, "undo", tmp_path)

        assert f"resumed process {sleeper.pid}" in done.stdout
        assert is_stopped(sleeper.pid) is False
        assert not (tmp_path / "stopped").exists()
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_jvm_that_ends_while_it_is_looked_at_is_none(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    script = heartbeat.SCRIPT.replace(
        "\ncase $1 in", f"\njvms() {{ echo {gone.pid}; }}\ncase $1 in"
    )
    done = changed_script(script, "node", tmp_path)

    assert (0, "") == (done.returncode, done.stdout)


class Line:
    """A wire that says what it was told to say."""

    def __init__(self, says: str = "ready\n", broken: bool = False) -> None:
        self.sent: list[str] = []
        self.says, self.broken = says, broken

    def send(self, line: str) -> None:
        if self.broken:
            raise OSError("gone")
        self.sent.append(line)

    def said(self) -> str:
        return self.says

    def close(self) -> None:
        self.sent.append("(closed)")


def test_a_heart_beats_along_every_wire_and_says_when_it_ends(monkeypatch):
    monkeypatch.setattr(heartbeat, "BEAT_EVERY_S", 0.01)
    wires = {"kafka1": Line(), "zk1": Line()}
    heart = heartbeat.Heartbeat(wires)
    heart.start()
    wait_until(lambda: all("beat" in w.sent for w in wires.values()), timeout_s=10, what="beats")
    heart.check()
    heart.stop()

    assert all(wire.sent[-2:] == ["end", "(closed)"] for wire in wires.values())


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        (
            Line("ready\nacted removed chain HARNESS-1\n"),
            "undid faults while the harness was running",
        ),
        (Line(broken=True), "cannot be reached"),
    ],
)
def test_a_holder_that_acted_or_is_gone_ends_the_run(monkeypatch, wire, words):
    monkeypatch.setattr(heartbeat, "BEAT_EVERY_S", 0.01)
    heart = heartbeat.Heartbeat({"kafka1": wire})
    heart.start()

    def failed() -> bool:
        try:
            heart.check()
        except ClusterError as error:
            return words in str(error)
        return False

    wait_until(failed, timeout_s=10, what="the heart to fail")
    heart.stop()
