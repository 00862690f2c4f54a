"""delay, throttle and netem's verbs: what they ask the kernel for, and what counts as proof."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster.capabilities import Requirements
from harness.cluster.local import network
from harness.cluster.local.cluster import LocalCluster
from harness.cluster.nodes import ClusterError, Node
from harness.nemesis.faults.network import shaping
from harness.nemesis.faults.network.netem import sent, setting
from harness.nemesis.faults.network.shaping import Seen, seen_by
from harness.nemesis.verb import DoesNothing
from harness.nemesis.verbs import VERBS
from tests.support.labs.network import NODES, Network, injection

TBF = """qdisc tbf 1001: root refcnt 3 rate 64Kbit burst 4Kb lat 500ms
 Sent 90 bytes 1 pkt (dropped 0, overlimits 12 requeues 0)
 backlog 0b 0p requeues 0
"""
NETEM = """qdisc netem 1001: root refcnt 3 limit 1000 delay 10ms reorder 25%
 Sent 9000 bytes 31 pkt (dropped 0, overlimits 0 requeues 0)
"""


class Program:
    """A program beside a node: what it said, and whether it died."""

    def __init__(self, said: str) -> None:
        self.stdout, self.ended = io.StringIO(said), False
        self.died: int | None = None

    def poll(self) -> int | None:
        return self.died

    def terminate(self) -> None:
        self.ended = True

    def kill(self) -> None:
        self.ended = True

    def wait(self, timeout: float = 0) -> int:
        return 0


@dataclass
class SlowNetwork(Network):
    """Rules as before; connections take as long as there are rules that hand packets over."""

    said: str = "ready\n"
    tc: list[tuple[str, ...]] = field(default_factory=list)
    shown: str = ""
    mute_senders: tuple[str, ...] = ()
    programs: list[Program] = field(default_factory=list)

    def in_network_of(self, node: Node, argv: Sequence[str]) -> str:
        if argv[0] == "tc":
            self.tc.append(tuple(argv[1:]))
            return self.shown
        if argv[1] == "-I":
            if node.name in self.mute_senders:
                return ""
            rules = [rule for place in self.rules.values() for rule in place]
            return "25.5" if any("NFQUEUE" in rule for rule in rules) else "0.5"
        return super().in_network_of(node, argv)

    def start_beside(self, node: Node, argv: Sequence[str]) -> Program:
        self.argv = list(argv)
        self.programs.append(Program(self.said))
        return self.programs[-1]


def begun(network: SlowNetwork, verb: str, **options: Any) -> Any:
    made = injection(network, verb=verb, **options)
    VERBS[verb].inject(made)
    return made


def test_a_delay_is_proved_by_packets_and_by_a_slow_connection():
    network = SlowNetwork()
    made = begun(network, "delay", ms=25)

    assert network.argv[-3:] == ["1", "25.0", "0.0"]
    assert VERBS["delay"].proof_in_force(made) == (
        "42 packets to kafka1 were delayed; a connection to it takes 25.5 ms, "
        "and took 0.5 ms before"
    )


def test_a_connection_that_is_as_fast_as_before_is_no_proof():
    assert VERBS["delay"].proof_in_force(begun(SlowNetwork(), "delay", ms=26)) is None


def test_where_another_fault_cut_the_link_somebody_else_is_asked():
    network = SlowNetwork(mute_senders=("zk1", "zk2"))

    assert "takes 25.5 ms" in str(VERBS["delay"].proof_in_force(begun(network, "delay", ms=25)))


def test_where_nobody_gets_through_nothing_is_proved_yet():
    network = SlowNetwork(mute_senders=("kafka2",))
    made = begun(network, "delay", **{"ms": 25, "from": "kafka2"})

    assert VERBS["delay"].proof_in_force(made) is None
    network.mute_senders = ()
    assert "and had no answer before" in str(VERBS["delay"].proof_in_force(made))


def test_only_those_named_wait_and_nothing_is_lost_when_the_program_dies():
    network = SlowNetwork()
    begun(network, "delay", **{"ms": 25, "from": "followers"})
    rules = [rule for rule in network.rules["kafka1 mangle"] if rule.startswith("-A HARNESS-1 ")]

    assert [rule.split()[3] for rule in rules] == ["10.77.0.22", "10.77.0.23"]
    assert all(rule.endswith("NFQUEUE --queue-num 1 --queue-bypass") for rule in rules)


def test_restoring_removes_the_rules_and_ends_the_program():
    network = SlowNetwork()
    made = begun(network, "delay", ms=25)
    assert VERBS["delay"].healed(made) is None
    VERBS["delay"].heal(made)

    assert network.programs[0].ended
    assert "a connection to it takes 0.5 ms" in str(VERBS["delay"].healed(made))
    VERBS["delay"].heal(made)


def test_a_program_that_died_during_the_fault_is_said_once_the_rules_are_gone():
    network = SlowNetwork(said="ready\nTraceback\nOSError: no such queue\n")
    made = begun(network, "delay", ms=25)
    network.programs[0].died = 1
    with pytest.raises(ClusterError, match="died during the fault: OSError: no such queue"):
        VERBS["delay"].heal(made)

    assert not any("HARNESS" in rule for rule in network.rules["kafka1 mangle"])


def test_a_program_that_cannot_begin_ends_the_run_with_its_last_line():
    with pytest.raises(ClusterError, match="cannot be delayed: OSError: EPERM"):
        begun(SlowNetwork(said="Traceback\nOSError: EPERM\n"), "delay", ms=25)


def test_a_throttle_has_a_name_of_its_own_and_is_removed_by_it():
    network = SlowNetwork(shown=TBF)
    made = begun(network, "throttle", kbit=64)

    assert network.tc[0] == (
        "qdisc",
        "add",
        "dev",
        "eth0",
        "root",
        "handle",
        "1001:",
        "tbf",
        "rate",
        "64kbit",
        "burst",
        "1600",
        "latency",
        "500ms",
    )
    assert VERBS["throttle"].proof_in_force(made) == (
        "packets of kafka1 had to wait 12 times because of the limit of 64 kbit/s, 0 were dropped"
    )
    VERBS["throttle"].heal(made)
    assert network.tc[-1] == ("qdisc", "del", "dev", "eth0", "root", "handle", "1001:")
    assert VERBS["throttle"].healed(made) is None
    network.shown = "qdisc noqueue 0: root refcnt 2"
    assert "its queue 1001: is gone" in str(VERBS["throttle"].healed(made))


def test_only_the_waits_of_our_own_queue_count():
    assert seen_by(TBF, "1001:") == Seen(sent=90, dropped=0, waits=12)
    assert seen_by(TBF, "1002:") == seen_by("", "1001:") == Seen()


def test_a_limit_that_limits_nothing_says_so_and_is_no_proof(monkeypatch):
    network = SlowNetwork(shown=TBF.replace("overlimits 12", "overlimits 0"))
    made = begun(network, "throttle", kbit=2000)
    assert VERBS["throttle"].proof_in_force(made) is None  # it may yet
    monkeypatch.setattr(shaping, "JUDGED_AFTER_S", 0.0)

    with pytest.raises(DoesNothing, match=r"kafka1 sent 90 bytes in 0 s .* is above its traffic"):
        VERBS["throttle"].proof_in_force(made)


def test_packets_that_were_dropped_are_proof_as_well():
    network = SlowNetwork(shown=TBF.replace("dropped 0, overlimits 12", "dropped 3, overlimits 0"))

    assert "3 were dropped" in str(
        VERBS["throttle"].proof_in_force(begun(network, "throttle", kbit=64))
    )


@pytest.mark.parametrize(
    ("verb", "options", "told"),
    [
        ("reorder", {"percent": 25}, "delay 10ms reorder 25%"),
        ("reorder", {"percent": 2.5, "ms": 40}, "delay 40ms reorder 2.5%"),
        ("duplicate", {"percent": 5}, "duplicate 5%"),
        ("corrupt", {"percent": 1}, "corrupt 1%"),
    ],
)
def test_what_netem_is_told(verb, options, told):
    network = SlowNetwork(shown=NETEM)
    made = begun(network, verb, **options)

    assert " ".join(setting(verb, options)) == told
    assert " ".join(network.tc[0]).endswith(f"handle 1001: netem {told}")
    assert VERBS[verb].proof_in_force(made) == f"31 packets of kafka1 went through netem: {told}"
    assert VERBS[verb].prepares == "netem"


def test_only_packets_of_our_own_queue_count():
    assert (sent(NETEM, "1001:"), sent(NETEM, "1002:"), sent(TBF, "1001:")) == (31, 0, 0)


def test_a_kernel_without_netem_is_refused_before_a_node_starts(monkeypatch, tmp_path):
    def refused(argv: Sequence[str], text: str | None = None) -> str:
        raise ClusterError("Specified qdisc kind is unknown.")

    monkeypatch.setattr(network, "run", refused)
    nothing: Any = SimpleNamespace()
    cluster = LocalCluster(nodes=NODES, home=nothing, java=nothing, scratch=tmp_path, logs=tmp_path)

    cluster.prepare(Requirements(ways=frozenset({"another-way"})))
    with pytest.raises(ClusterError, match="kernel has no netem"):
        cluster.prepare(Requirements(ways=frozenset({"netem"})))


@pytest.mark.parametrize(
    ("verb", "options", "told"),
    [
        ("delay", {}, "ms is missing: give how long packets wait, in ms"),
        ("delay", {"ms": 0}, "ms is 0, must be how long packets wait, in ms, above 0"),
        ("delay", {"ms": "slow"}, "ms is 'slow', must be how long"),
        ("delay", {"ms": 5, "jitter_ms": -1}, "jitter_ms is -1, must be"),
        ("delay", {"ms": 5, "from": "nobody"}, "from names 'nobody'"),
        ("delay", {"ms": 5, "direction": "in"}, "'direction' is unknown"),
        ("throttle", {"kbit": 0}, "kbit is 0, must be the most"),
        ("throttle", {"kbit": "1mbit"}, "in kbit/s, 1 or more, as in kbit = 8"),
        ("reorder", {"percent": 0}, "percent is 0, must be the percentage"),
        ("reorder", {"percent": 5, "ms": 0}, "ms is 0, must be how long"),
        ("corrupt", {"percent": 5, "ms": 5}, "'ms' is unknown"),
    ],
)
def test_options_that_mean_nothing_are_refused(verb, options, told):
    assert any(told in problem for problem in VERBS[verb].problems(options))


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("delay", {"ms": 5}),
        ("delay", {"ms": 0.5, "jitter_ms": 3, "from": "clients, kafka2"}),
        ("throttle", {"kbit": 256}),
        ("duplicate", {"percent": 100}),
    ],
)
def test_options_that_mean_something_are_not(verb, options):
    assert VERBS[verb].problems(options) == []
