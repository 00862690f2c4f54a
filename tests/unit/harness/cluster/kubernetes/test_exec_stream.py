"""The line to a pod's sidecar: when it may break, and when a break ends the run."""

from __future__ import annotations

from typing import Any

import pytest

websocket = pytest.importorskip("websocket", reason="the extra kubernetes is not installed")
pytest.importorskip("kubernetes", reason="the extra kubernetes is not installed")

from harness.cluster.kubernetes.exec_stream import PodWatchStream  # noqa: E402


class Line:
    """As the client's WSClient, as far as a wire needs it."""

    def __init__(self, *told: str) -> None:
        self.told, self.sent, self.broken = list(told), list[str](), False

    def is_open(self) -> bool:
        return not self.broken

    def read_stdout(self, timeout: float) -> str:
        if self.broken:
            raise websocket.WebSocketConnectionClosedException("gone")
        return self.told.pop(0) if self.told else ""

    def read_stderr(self, timeout: float) -> str:
        return ""

    def write_stdin(self, text: str) -> None:
        if self.broken:
            raise websocket.WebSocketConnectionClosedException("gone")
        self.sent.append(text)

    def close(self) -> None:
        self.broken = True


class Api:
    """Gives these lines, one after the other."""

    def __init__(self, *lines: Line) -> None:
        self.lines = list(lines)

    def line_to(self, pod: str, container: str, argv: Any) -> Line:
        assert ("kafka-1", "holder", "watch") == (pod, container, argv[4])
        return self.lines.pop(0)


def wire(*lines: Line) -> PodWatchStream:
    api: Any = Api(*lines)
    return PodWatchStream(api, "kafka-1", "holder")


def test_a_line_that_breaks_unordered_is_told_when_it_is_sent_to() -> None:
    line = Line("", "ready\n")
    made = wire(line)
    made.send("beat")
    line.broken = True

    assert "ready\n" == made.said()  # asking never raises
    with pytest.raises(OSError, match="gone"):
        made.send("beat")
    assert ["beat\n"] == line.sent


def test_a_line_may_break_with_a_pod_that_goes_by_order_and_the_next_is_attached_to() -> None:
    first, second = Line("ready\n"), Line("ready\n")
    made = wire(first, second)
    made.let_go()
    made.send("beat")
    first.broken = True
    made.send("beat")
    assert "" == made.said()
    made.attach()
    made.send("beat")

    assert (["beat\n"], ["beat\n"]) == (first.sent, second.sent)
    second.broken = True
    with pytest.raises(OSError, match="gone"):
        made.send("beat")


def test_what_a_holder_undid_is_heard() -> None:
    line = Line("ready\n", "acted removed chain HARNESS-0\n")
    made = wire(line)

    assert made.said().endswith("acted removed chain HARNESS-0\n")


def test_a_line_to_a_pod_that_stays_after_all_may_not_break() -> None:
    line = Line("ready\n")
    made = wire(line)
    made.let_go()
    made.hold_on()
    line.broken = True

    with pytest.raises(OSError, match="gone"):
        made.send("beat")
