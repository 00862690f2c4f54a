"""A program that holds packets back: slow links on a kernel without netem.

    python -m harness.nemesis.faults.network.delay_queue QUEUE DELAY_MS JITTER_MS      (in the
    node's network)

An iptables rule passes packets to a queue of the kernel (NFQUEUE); this program reads the number of
each packet, never its content, waits, and tells the kernel to let it pass. One message passes all
packets that are due: 10 µs a packet. Packets keep their order, with jitter too.

When this program dies, the rule's `--queue-bypass` lets packets pass; when the queue is full, the
kernel does (fail-open). The program prints `ready` once it holds packets back; at SIGTERM it lets
all of them pass and ends.

Standard library only. Source: linux/netfilter/nfnetlink_queue.h, iptables-extensions(8) NFQUEUE.
"""

from __future__ import annotations

import contextlib
import errno
import math
import select
import signal
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from types import FrameType

NETLINK_NETFILTER, SUBSYSTEM_QUEUE = 12, 3
REQUEST, ACKNOWLEDGE = 1, 4  # flags of a netlink message
CONFIG, VERDICT_BATCH, NETLINK_ERROR = 2, 3, 2
COMMAND, PARAMETERS, LONGEST, MASK, FLAGS = 1, 2, 3, 4, 5  # attributes of a CONFIG message
VERDICT_HEADER = 2  # attribute of a verdict
BIND, COPY_METADATA, ACCEPT = 1, 1, 1
FAIL_OPEN, LARGE_PACKETS_WHOLE = 1, 4  # NFQA_CFG_F_FAIL_OPEN, NFQA_CFG_F_GSO
SOL_NETLINK, NO_ENOBUFS = 270, 5
QUEUE_LENGTH = 65536
RECEIVE_BUFFER = 8 << 20
# netlink header, nfgenmsg and the first attribute's header; that attribute is the packet's number.
PACKET_ID = struct.Struct(">I")
PACKET_ID_AT = 16 + 4 + 4


class Line:
    """Packets in the order in which they came, each with the moment when it may pass."""

    def __init__(self, delay_s: float, jitter_s: float, random: Random) -> None:
        self._delay_s, self._jitter_s, self._random = delay_s, jitter_s, random
        self._waiting: deque[tuple[float, int]] = deque()
        self._last_s = 0.0

    def arrive(self, packet: int, now_s: float) -> None:
        """A packet came; it passes after its delay, and never before one that came earlier."""
        until_s = now_s + self._delay_s + self._jitter_s * self._random.random()
        self._last_s = max(self._last_s, until_s)
        self._waiting.append((self._last_s, packet))

    def next_s(self, now_s: float) -> float | None:
        """Seconds until a packet may pass; None while there is none."""
        return max(0.0, self._waiting[0][0] - now_s) if self._waiting else None

    def due(self, now_s: float) -> int | None:
        """The newest packet whose time has come, taken out with all before it."""
        last = None
        while self._waiting and self._waiting[0][0] <= now_s:
            last = self._waiting.popleft()[1]
        return last


def message(kind: int, queue: int, attributes: bytes, flags: int = REQUEST) -> bytes:
    """A netlink message to the queue subsystem."""
    body = struct.pack("=BBH", 0, 0, socket.htons(queue)) + attributes
    header = struct.pack("=IHHII", 16 + len(body), (SUBSYSTEM_QUEUE << 8) | kind, flags, 0, 0)
    return header + body


def attribute(kind: int, payload: bytes) -> bytes:
    """A netlink attribute, padded to four bytes."""
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + bytes(-length % 4)


def pass_up_to(queue: int, packet: int) -> bytes:
    """The message that lets a packet and all before it pass."""
    verdict = attribute(VERDICT_HEADER, struct.pack(">II", ACCEPT, packet))
    return message(VERDICT_BATCH, queue, verdict)


def open_queue(queue: int) -> socket.socket:
    """Take the queue over. Raises OSError when the kernel refuses, as when another has it."""
    kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    kernel.bind((0, 0))
    kernel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    kernel.setsockopt(SOL_NETLINK, NO_ENOBUFS, 1)
    flags = struct.pack(">I", FAIL_OPEN | LARGE_PACKETS_WHOLE)
    for attributes in (
        attribute(COMMAND, struct.pack(">BBH", BIND, 0, 0)),
        attribute(PARAMETERS, struct.pack(">IB", 0, COPY_METADATA)),
        attribute(LONGEST, struct.pack(">I", QUEUE_LENGTH)),
        attribute(MASK, flags) + attribute(FLAGS, flags),
    ):
        kernel.send(message(CONFIG, queue, attributes, REQUEST | ACKNOWLEDGE))
        _await_acknowledgement(kernel)
    kernel.setblocking(False)
    return kernel


def _await_acknowledgement(kernel: socket.socket) -> None:
    answer = kernel.recv(65536)
    kind, code = struct.unpack_from("=4xH", answer)[0], struct.unpack_from("=i", answer, 16)[0]
    if kind == NETLINK_ERROR and code:
        raise OSError(-code, errno.errorcode.get(-code, "the kernel refused the queue"))


def hold_back(kernel: socket.socket, queue: int, line: Line, ended: Callable[[], bool]) -> None:
    """Let packets pass when their time has come, until `ended`; then all that are held."""
    clock = time.monotonic
    while not ended():
        wait_s = line.next_s(clock())
        select.select([kernel], [], [], 0.1 if wait_s is None else min(wait_s, 0.1))
        _take_in(kernel, line, 256)
        _let_pass(kernel, queue, line.due(clock()))
    _take_in(kernel, line, QUEUE_LENGTH)  # what is not answered is dropped when we are gone
    _let_pass(kernel, queue, line.due(math.inf))


def _take_in(kernel: socket.socket, line: Line, most: int) -> None:
    with contextlib.suppress(BlockingIOError):
        for _ in range(most):
            packet = PACKET_ID.unpack_from(kernel.recv(4096), PACKET_ID_AT)[0]
            line.arrive(packet, time.monotonic())


def _let_pass(kernel: socket.socket, queue: int, packet: int | None) -> None:
    if packet is not None:
        kernel.send(pass_up_to(queue, packet))


def main(argv: Sequence[str]) -> None:
    """Hold packets of one queue back until SIGTERM."""
    queue, delay_s, jitter_s = int(argv[0]), float(argv[1]) / 1000, float(argv[2]) / 1000
    signals: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        signals.append(number)

    signal.signal(signal.SIGTERM, stop)
    with open_queue(queue) as kernel:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        line = Line(delay_s, jitter_s, Random(queue))  # noqa: S311
        hold_back(kernel, queue, line, lambda: bool(signals))


if __name__ == "__main__":
    main(sys.argv[1:])
