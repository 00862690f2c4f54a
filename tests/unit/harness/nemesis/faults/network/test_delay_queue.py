"""The program that holds packets back: order, moments, messages; and once with a real kernel."""

from __future__ import annotations

import struct
import subprocess
import sys
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from harness.host.namespaces import UNSHARE
from harness.nemesis.faults.network.delay_queue import Line, attribute, message, pass_up_to
from tests.support.needs import needs


def line(delay_s: float, jitter_s: float = 0.0) -> Line:
    return Line(delay_s, jitter_s, Random(1))


def test_a_packet_passes_when_its_time_has_come():
    waiting = line(0.5)
    waiting.arrive(1, 10.0)

    assert waiting.next_s(10.25) == 0.25
    assert waiting.due(10.25) is None
    assert waiting.due(10.5) == 1
    assert waiting.due(10.5) is None
    assert waiting.next_s(11.0) is None


def test_all_whose_time_has_come_pass_together():
    waiting = line(1.0)
    for number in (7, 8, 9):
        waiting.arrive(number, number / 10)

    assert waiting.due(1.8) == 8
    assert waiting.next_s(1.8) is not None


@given(st.lists(st.floats(0, 0.1), min_size=1, max_size=50), st.integers())
def test_with_jitter_packets_keep_their_order_and_wait_at_least_the_delay(pauses, seed):
    waiting, now, passed = Line(0.02, 0.05, Random(seed)), 0.0, []
    came: dict[int, float] = {}
    for number, pause in enumerate(pauses):
        now += pause
        came[number] = now
        waiting.arrive(number, now)
        while (wait_s := waiting.next_s(now)) is not None and wait_s < 0.001:
            now += wait_s
            packet = waiting.due(now)
            assert packet is not None
            assert now - came[packet] >= 0.02 - 1e-9
            passed.append(packet)

    assert passed == sorted(passed)


def test_a_verdict_is_a_netlink_message_to_our_queue():
    """nlmsghdr, nfgenmsg with the queue's number in network order, one attribute of 12 bytes."""
    sent = pass_up_to(5, 77)

    length, kind, flags, _, _ = struct.unpack_from("=IHHII", sent)
    assert (length, kind, flags) == (len(sent), 0x0303, 1)
    assert struct.unpack_from(">H", sent, 18)[0] == 5
    assert struct.unpack_from("=HH", sent, 20) == (12, 2)
    assert struct.unpack_from(">II", sent, 24) == (1, 77)


def test_attributes_are_padded_to_four_bytes():
    assert attribute(2, b"12345") == struct.pack("=HH", 9, 2) + b"12345\0\0\0"
    assert len(message(1, 0, b"")) == 20


KERNEL = """
set -e
ip link set lo up
iptables -w -A INPUT -i lo -p udp -j NFQUEUE --queue-num 3 --queue-bypass
"$PYTHON" -u - <<'END'
import socket, subprocess, sys, time
held = [sys.executable, "-m", "harness.nemesis.faults.network.delay_queue", "3", "300", "0"]
program = subprocess.Popen(held, stdout=subprocess.PIPE, text=True)
assert program.stdout.readline() == "ready\\n"
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
receiver.settimeout(5)
def took():
    begin = time.monotonic()
    for number in range(20):
        receiver.sendto(b"%d" % number, receiver.getsockname())
    assert [int(receiver.recv(9)) for _ in range(20)] == list(range(20))
    return (time.monotonic() - begin) * 1000
while_held = took()
receiver.sendto(b"held", receiver.getsockname())
program.terminate()
assert receiver.recv(9) == b"held"
assert program.wait() == 0
print(while_held, took())
END
"""


def test_the_kernel_lets_packets_wait_and_pass_in_order_and_at_once_when_the_program_has_ended():
    needs("namespaces")
    done = subprocess.run(
        [*UNSHARE, "env", f"PYTHON={sys.executable}", "sh", "-c", KERNEL],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    held_ms, after_ms = map(float, done.stdout.split())
    assert held_ms >= 300
    assert after_ms < 300
