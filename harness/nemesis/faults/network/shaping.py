"""delay, throttle: slow links.

    delay       packets to the node wait for `ms` (and up to `jitter_ms` more, in their order), so
                that every round trip with it takes that much longer; `from` as for `cut`, default
                everyone. harness.nemesis.faults.network.delay_queue holds them back, without netem
    throttle    the node sends at most `kbit` kilobits a second, to all together (tc tbf on
                its eth0); a packet that would wait for more than half a second is dropped. What
                others send to it is not limited, but its TCP acknowledgements are

Undone by `restore`. Proof of a delay: our queue got packets, and a connection to the node takes at
least that long; healed when the rules are gone and connections are fast again. If the program that
holds packets back dies, packets pass at once, and the run fails when the fault is healed. Proof of
a throttle: the kernel counts packets that waited (`overlimits`) or were dropped. Where it counts
none in the first ten seconds, the limit has no effect; that is reported at once, and the fault
stays unproved.
Source: iptables-extensions(8) NFQUEUE, tc-tbf(8).
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Annotated, cast

from pydantic import Field

from harness.cluster.capabilities import Companions, Links
from harness.cluster.nodes import ClusterError, Node
from harness.model.effects import Effects
from harness.nemesis.faults.network import delay_queue, iptables
from harness.nemesis.faults.network.iptables import Chain
from harness.nemesis.faults.network.links import links_of, reach, stay
from harness.nemesis.faults.network.peers import (
    PeerOptions,
    Peers,
    effects_on_links,
    nodes_and_clients,
    not_there,
    peers,
)
from harness.nemesis.options import Options
from harness.nemesis.verb import DoesNothing, Injection, Trial, Verb

JUDGED_AFTER_S = 10.0
LEAST_BURST = 1600  # bytes: one packet must fit
LONGEST_MS = 60_000
END_LIMIT_S = 10.0
PATIENCE_S = 2.0  # beyond the delay: without an answer by then another fault has cut the link
# Prints the milliseconds until a connection was made or refused; nothing without an answer.
CONNECT = """
import socket, sys, time
begin = time.monotonic()
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3])).close()
except ConnectionRefusedError:
    pass
except OSError:
    sys.exit()
print((time.monotonic() - begin) * 1000)
"""


# delay


class DelayOptions(PeerOptions):
    """Which packets wait, and for how long."""

    ms: Annotated[
        float,
        Field(
            gt=0,
            le=LONGEST_MS,
            description=f"how long packets wait, in ms, above 0 and at most {LONGEST_MS:,}",
            examples=[50],
        ),
    ]
    jitter_ms: Annotated[
        float,
        Field(
            ge=0,
            le=LONGEST_MS,
            description=f"how much longer some of them wait, in ms, between 0 and {LONGEST_MS:,}",
        ),
    ] = 0.0
    peers: Peers = "everyone"


def _options(injection: Injection) -> DelayOptions:
    return DelayOptions.of(injection.options)


def _delay(injection: Injection) -> None:
    links, chain, node = links_of(injection), _chain(injection), injection.node
    injection.memo["before_ms"] = _round_trip_ms(injection)
    delay = _options(injection)
    program = injection.memo["program"] = cast(Companions, injection.cluster).start_beside(
        node,
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            inspect.getsource(delay_queue),
            str(injection.fault),
            str(delay.ms),
            str(delay.jitter_ms),
        ],
    )
    assert program.stdout is not None
    if (line := program.stdout.readline().strip()) != "ready":
        raise ClusterError(f"packets to {node.name} cannot be delayed: {_last(program, line)}")
    hold = ["-j", "NFQUEUE", "--queue-num", str(injection.fault), "--queue-bypass"]
    senders = _senders(injection)
    iptables.fill(links, node, chain, [["-s", sender.address, *hold] for sender in senders])
    iptables.hang(links, node, chain)


def _delayed(injection: Injection) -> str | None:
    chain, node = _chain(injection), injection.node
    took_ms, asked_ms = _round_trip_ms(injection), _options(injection).ms
    packets = iptables.packets(links_of(injection), node, chain).total()
    if not packets or took_ms is None or took_ms < asked_ms:
        return None
    before = injection.memo["before_ms"]
    earlier = "had no answer" if before is None else f"took {before:.1f} ms"
    return (
        f"{packets} packets to {node.name} were delayed; a connection to it takes "
        f"{took_ms:.1f} ms, and {earlier} before"
    )


def _stop_delay(injection: Injection) -> None:
    """Remove the rules first, so that the queue gets no packet when the program ends."""
    iptables.remove(links_of(injection), injection.node, _chain(injection))
    program = injection.memo.pop("program", None)
    if program is None:
        return
    died = program.poll()
    program.terminate()
    try:
        program.wait(timeout=END_LIMIT_S)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
    if died is not None:
        raise ClusterError(
            f"the program that delayed packets to {injection.node.name} died "
            f"during the fault: {_last(program, f'exit {died}')}"
        )


def _fast_again(injection: Injection) -> str | None:
    chain, node = _chain(injection), injection.node
    if iptables.stands(links_of(injection), node, chain):
        return None
    took_ms = _round_trip_ms(injection)
    if took_ms is None or took_ms >= _options(injection).ms:
        return None
    return f"chain {chain.name} is gone from {node.name}; a connection to it takes {took_ms:.1f} ms"


def _chain(injection: Injection) -> Chain:
    """A chain in `mangle`: packets must still meet the rules of other faults in `filter`."""
    return Chain(fault=injection.fault, table="mangle")


def _round_trip_ms(injection: Injection) -> float | None:
    """How long a connection to the node takes from the first of the senders that gets an answer."""
    links, delay = links_of(injection), _options(injection)
    patience_s = (delay.ms + delay.jitter_ms) / 1000 + PATIENCE_S
    for sender in _senders(injection):
        host, port = reach(links, sender, injection.node)
        argv = [sys.executable, "-I", "-S", "-c", CONNECT, host, str(port), str(patience_s)]
        if output := links.in_network_of(sender, argv).strip():
            return float(output)
    return None


def _senders(injection: Injection) -> list[Node]:
    by_name = nodes_and_clients(injection)
    named = peers(injection, _options(injection).peers)
    names = [name for name in named if name != injection.node.name]
    if not names:
        raise ClusterError(
            f"from matches no node that sends packets to {injection.node.name}: change it"
        )
    return [by_name[name] for name in names]


def _last(program: subprocess.Popen[str], otherwise: str) -> str:
    """The last line that a program which ended has printed."""
    program.kill()
    assert program.stdout is not None
    return (program.stdout.read().strip().splitlines() or [otherwise or "it printed nothing"])[-1]


# throttle


class ThrottleOptions(Options):
    """What the node may send."""

    kbit: Annotated[
        int,
        Field(
            ge=1,
            description="the most that the node may send, in kbit/s, 1 or more",
            examples=[8],
        ),
    ]


def _throttle(injection: Injection) -> None:
    kbit = _kbit(injection)
    burst = max(LEAST_BURST, kbit * 1000 // 8 // 100)  # bytes that may go at once: 10 ms' worth
    injection.memo["since_s"] = time.monotonic()
    _tc(
        injection,
        "add",
        "dev",
        "eth0",
        "root",
        "handle",
        handle_of(injection),
        "tbf",
        "rate",
        f"{kbit}kbit",
        "burst",
        str(burst),
        "latency",
        "500ms",
    )


def _throttled(injection: Injection) -> str | None:
    shown = links_of(injection).in_network_of(
        injection.node, ["tc", "-s", "qdisc", "show", "dev", "eth0"]
    )
    seen, name, kbit = seen_by(shown, handle_of(injection)), injection.node.name, _kbit(injection)
    if seen.waits or seen.dropped:
        return (
            f"packets of {name} had to wait {seen.waits} times because of the limit of "
            f"{kbit} kbit/s, {seen.dropped} were dropped"
        )
    lasted_s = time.monotonic() - injection.memo["since_s"]
    if lasted_s < JUDGED_AFTER_S:
        return None
    raise DoesNothing(
        f"{name} sent {seen.sent:,} bytes in {lasted_s:.0f} s and none had to wait: "
        f"{kbit} kbit/s is above its traffic: lower kbit"
    )


def _kbit(injection: Injection) -> int:
    return ThrottleOptions.of(injection.options).kbit


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The counters of a limiting queue."""

    sent: int = 0  # bytes
    dropped: int = 0  # packets
    waits: int = 0  # how often a packet had to wait: `overlimits`


def seen_by(shown: str, handle: str) -> Seen:
    """The counters of a queue, from what `tc -s qdisc show` prints."""
    counters = r".*?\n Sent (\d+) bytes \d+ pkt \(dropped (\d+), overlimits (\d+) "
    match = re.search(rf"qdisc tbf {re.escape(handle)} {counters}", shown)
    if not match:
        return Seen()
    sent, dropped, waits = map(int, match.groups())
    return Seen(sent=sent, dropped=dropped, waits=waits)


def restore(injection: Injection) -> None:
    """Remove the node's queue, if it is ours."""
    if _has_qdisc(injection):
        _tc(injection, "del", "dev", "eth0", "root", "handle", handle_of(injection))


def restored(injection: Injection) -> str | None:
    """The sentence that says that the node's queue of ours is gone."""
    if _has_qdisc(injection):
        return None
    return f"{injection.node.name} sends at full speed: its queue {handle_of(injection)} is gone"


def _has_qdisc(injection: Injection) -> bool:
    return f" {handle_of(injection)} " in _tc(injection, "show", "dev", "eth0")


def _tc(injection: Injection, *words: str) -> str:
    return links_of(injection).in_network_of(injection.node, ["tc", "qdisc", *words])


def handle_of(injection: Injection) -> str:
    """A queue's name of our own: the kernel takes hexadecimal numbers up to ffff."""
    return f"{0x1000 + injection.fault:x}:"


DELAY = Verb(
    name="delay",
    undo="restore",
    done="slowed by network delay",
    effects=effects_on_links,
    impossible=not_there,
    options=DelayOptions,
    needs=(Links, Companions),
    holds="ingress",
    inject=_delay,
    proof_in_force=_delayed,
    heal=_stop_delay,
    healed=_fast_again,
    host={"iptables NFQUEUE": ""},
)
THROTTLE = Verb(
    name="throttle",
    undo="restore",
    done="limited in network bandwidth",
    effects=Effects(leadership="anywhere"),
    options=ThrottleOptions,
    needs=(Links,),
    holds="egress",
    inject=_throttle,
    proof_in_force=_throttled,
    heal=restore,
    healed=restored,
    during=stay,
    # Less than followers send while all of them are throttled; a ZooKeeper sends less still.
    trial=Trial(options={"kbit": 8}, options_at_zookeeper={"kbit": 1}),
    host={"tc tbf": ""},
)
