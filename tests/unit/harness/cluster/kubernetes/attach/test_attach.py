"""A Kafka in pods that is not ours, without a cluster: who is who, what is refused and healed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster.exec import sidecar
from harness.cluster.kubernetes import access
from harness.cluster.kubernetes.attach import client_address, ephemeral_containers, rules
from harness.cluster.kubernetes.attach.ephemeral_containers import LINKS, PROCESS
from harness.cluster.kubernetes.attach.run_containers import kinds_for
from harness.cluster.kubernetes.pods import Guest, Pod
from harness.cluster.nodes import ClusterError, Node
from harness.host.namespaces import UNSHARE
from harness.model.plan import Step
from harness.model.scenario import ScenarioError
from harness.nemesis.verbs import requirements
from harness.scenario.prepare import Request, prepare

KAFKAS = tuple(
    Node(name=f"kafka{i}", role="broker", id=i, address="a", port=9094) for i in (0, 1, 2)
)
PODS = ("my-cluster-kafka-0", "my-cluster-kafka-1", "my-cluster-kafka-2")


# Who is who


def test_the_number_at_the_end_of_a_pod_s_name_is_its_broker_s_id() -> None:
    assert {"kafka0": PODS[0], "kafka1": PODS[1], "kafka2": PODS[2]} == rules.placed(KAFKAS, PODS)
    assert 12 == rules.numbered("my-cluster-pool-a-12")


@pytest.mark.parametrize(
    ("nodes", "pods", "words"),
    [
        (KAFKAS, PODS[:2], "no pod of .*selectors.brokers is that of kafka2: the pods are my-"),
        (KAFKAS, (), "the pods are none"),
        (KAFKAS[:2], PODS, "pod my-cluster-kafka-2 is no broker that the cluster knows of"),
        (KAFKAS, (*PODS, "other-kafka-1"), "pods my-cluster-kafka-1 and other-kafka-1 have one"),
        (
            KAFKAS,
            (*PODS, "my-cluster-entity-operator-5c8x"),
            "no number at its end, .*: narrow backend.kubernetes.attach.selectors",
        ),
    ],
)
def test_a_broker_without_a_pod_and_a_pod_without_a_broker_are_told(
    nodes: Sequence[Node], pods: Sequence[str], words: str
) -> None:
    with pytest.raises(ClusterError, match=words):
        rules.placed(nodes, pods)


def test_connections_are_counted_by_who_calls_and_the_port_that_is_called() -> None:
    listing = """\
0      0      [::ffff:10.65.0.7]:9094 [::ffff:10.128.1.1]:40000
0      0      [::ffff:10.65.0.7]:9094 [::ffff:10.128.1.1]:40002
0      0               10.65.0.7:9091           10.65.0.8:50000
0      0              [fd00::7]:9094           [fd00::1]:40004
"""

    assert {("10.128.1.1", 9094): 2, ("10.65.0.8", 9091): 1, ("fd00::1", 9094): 1} == (
        client_address.ends_of(listing)
    )


# What can be asked for

ATTACH = {
    "backend.kubernetes.attach.namespace": "kafka",
    "backend.kubernetes.attach.bootstrap": ["10.0.0.1:31094"],
    "backend.kubernetes.attach.image": "hand:1",
    "backend.kubernetes.attach.selectors.brokers": "strimzi.io/name=my-cluster-kafka",
}


def refusal(verb: str = "cut", target: str = "leader", **changes: Any) -> str:
    """Why such a run is refused; the tests have the client."""
    fault = {
        "verb": verb,
        "target": target,
        "at_s": 1,
        "for_s": 1,
        "options": changes.pop("options", {}),
    }
    settings = {**ATTACH, "faults": [fault], "cluster.server": {}, "cluster.zoo": {}, **changes}
    with pytest.raises(ScenarioError) as found:
        prepare(
            Request(
                scenario="baseline",
                seed=1,
                backend="kubernetes",
                settings={k: v for k, v in settings.items() if v is not None},
            )
        )
    return str(found.value)


pytest.importorskip("kubernetes", reason="the extra kubernetes is not installed")


@pytest.mark.parametrize(
    ("said", "verb", "target", "changes"),
    [
        ("kill needs Processes, which the backend kubernetes does not", "kill", "leader", {}),
        ("whose kubelet begins an ended container again at once: choose", "kill", "leader", {}),
        ("or one of pause, cut, lose, throttle", "roll", "all", {}),
        ("elect needs Owned", "elect", "preferred-leader", {}),
        ("zk1 cannot be hit on the backend kubernetes", "cut", "zk1", {}),
        (
            "pause needs Signals, which the backend kubernetes does not have without",
            "pause",
            "leader",
            {"backend.kubernetes.attach.image": ""},
        ),
        (
            "attach.namespace: say where it is",
            "cut",
            "leader",
            {"backend.kubernetes.attach.namespace": ""},
        ),
        (
            "attach.selectors.brokers: say by which labels",
            "cut",
            "leader",
            {"backend.kubernetes.attach.selectors.brokers": ""},
        ),
        (
            "attach.bootstrap: name at least one broker",
            "cut",
            "leader",
            {"backend.kubernetes.attach.bootstrap": None},
        ),
        ("selectors.zookeepers", "cut", "leader", {"options": {"from": "followers,zookeepers"}}),
        (
            "its settings are not the harness's",
            "cut",
            "leader",
            {"cluster.server": {"min.insync.replicas": 2}},
        ),
        (
            "backend.kubernetes.namespace is for a cluster of the harness's own",
            "cut",
            "leader",
            {"backend.kubernetes.namespace": "mine"},
        ),
        ("attach.client", "cut", "leader", {"workload.producer": {"sasl.password": "x"}}),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    said: str, verb: str, target: str, changes: dict[str, Any]
) -> None:
    assert said in refusal(verb, target, **changes)


def test_workers_may_be_killed_and_brokers_be_named_by_any_id() -> None:
    faults = [
        {"verb": "kill", "target": "consumers", "at_s": 1},
        {"verb": "delete-pod", "target": "kafka0", "at_s": 1},
        {"verb": "cut", "target": "kafka17", "at_s": 1, "options": {"from": "kafka0"}},
    ]
    prepared = prepare(
        Request(
            scenario="baseline",
            seed=1,
            backend="kubernetes",
            settings={
                **ATTACH,
                "faults": faults,
                "workload.kind": "stream",
                "cluster.server": {},
                "cluster.zoo": {},
            },
        )
    )

    assert {LINKS} == kinds_for(requirements(prepared.steps))
    assert access.attaches(prepared.scenario)


def step(verb: str, target: str = "leader", **options: str) -> Step:
    return Step(
        step=0,
        series=0,
        verb=verb,
        target=target,
        unit="seconds",
        at=1.0,
        for_s=1.0,
        until=None,
        options=options,
        seed=1,
    )


def test_only_what_faults_need_is_put_into_pods() -> None:
    assert frozenset() == kinds_for(requirements([step("delete-pod"), step("pause", "producers")]))
    assert {LINKS, PROCESS} == kinds_for(requirements([step("throttle"), step("pause")]))


def test_a_plan_says_by_which_words_its_faults_name_other_ends() -> None:
    plan = [step("cut-answers"), step("cut", **{"from": "followers, kafka7"}), step("pause")]

    assert {"clients", "followers", "kafka7"} == requirements([*plan, step("cut")]).ends


# Containers of ours


def test_names_of_a_run_s_containers_are_names_that_kubernetes_takes() -> None:
    assert "kafka-harness-study-1-20261121t172215z-7-" == ephemeral_containers.of_run(
        "study-1/20261121T172215Z-7"
    )
    assert 63 >= len(f"{ephemeral_containers.of_run('x' * 99)}{PROCESS}")


def test_one_for_links_shares_nobody_s_processes() -> None:
    """Or it would end with the container that the kubelet restarts, and leave its rules."""
    assert "targetContainerName" not in ephemeral_containers.manifest("n", "i", ["true"], None)
    assert (
        "kafka" == ephemeral_containers.manifest("n", "i", ["true"], "kafka")["targetContainerName"]
    )


def test_a_script_comes_through_the_kubelet_as_it_is() -> None:
    """It reads $(NAME) and $$ its own way."""
    (_, _, script) = ephemeral_containers.manifest(
        "n", "i", ["sh", "-c", 'echo "$$" $(id) ${x}'], None
    )["command"]

    assert 'echo "$$$$" $$(id) $${x}' == script


POD = Pod(
    name="k-1",
    uid="a",
    ip="10.0.0.1",
    host_ip="10.1.0.1",
    leaving=False,
    ready=True,
    restarts=0,
    trouble=None,
)


class Api:
    """Pods with such containers, which end when they are told to leave."""

    def __init__(self, **of_pods: dict[str, Guest]) -> None:
        self.guests = of_pods
        self.asked: list[tuple[str, str, str]] = []
        self.log_of: dict[str, str] = {}

    def pods(self, _: str) -> Mapping[str, Pod]:
        return {name: replace(POD, name=name, guests=dict(g)) for name, g in self.guests.items()}

    def run_in(self, pod: str, container: str, argv: Sequence[str]) -> str:
        self.asked.append((pod, container, argv[4]))
        if argv[4] == "leave":
            self.guests[pod][container] = Guest(image="i", code=0)
        return "took chain HARNESS-1 of table filter away\n" if argv[4] == "undo" else ""

    def log(self, _: str, container: str) -> str:
        return self.log_of.get(container, "")

    def put_into(self, pod: str, containers: Sequence[Mapping[str, Any]]) -> None:
        for each in containers:
            done = each["command"][4] == "undo"
            state = Guest(image=each["image"], running=not done, code=0 if done else None)
            self.guests[pod][each["name"]] = state
            self.log_of[each["name"]] = "kafka-harness: took chain HARNESS-2 of table filter away\n"


MINE, THEIRS = "kafka-harness-r-1-links", "debugger-links"


def test_heal_tells_what_was_undone_by_itself_undoes_the_rest_and_ends_what_runs() -> None:
    api: Any = Api(k1={MINE: Guest(image="i", running=True), THEIRS: Guest(image="x", code=1)})
    api.log_of[MINE] = "kafka-harness: resumed process 7\nsomething else\n"

    assert [
        "k1: resumed process 7, by itself",
        "k1: took chain HARNESS-1 of table filter away",
    ] == ephemeral_containers.heal(api)
    assert [("k1", MINE, "undo"), ("k1", MINE, "leave")] == api.asked


def test_what_a_killed_container_could_not_undo_another_does() -> None:
    api: Any = Api(k1={MINE: Guest(image="i", code=137)})

    assert ["k1: took chain HARNESS-2 of table filter away"] == ephemeral_containers.heal(api)
    made = [each for name, each in api.guests["k1"].items() if name != MINE]
    assert ["i"] == [each.image for each in made]


def test_one_that_has_ended_in_order_is_left_alone() -> None:
    api: Any = Api(k1={MINE: Guest(image="i", code=0)})
    api.log_of[MINE] = "kafka-harness: resumed process 7\n"

    assert [] == ephemeral_containers.heal(api)
    assert ["k1: resumed process 7, by itself"] == ephemeral_containers.heal(
        api, "kafka-harness-r-1-"
    )


def test_a_container_that_cannot_begin_ends_the_set_up() -> None:
    api: Any = Api(k1={MINE: Guest(image="i", trouble="ErrImagePull: no such image")})

    with pytest.raises(ClusterError, match="no hand in pod k1: ErrImagePull"):
        ephemeral_containers.put_into(
            api, {"k1": [ephemeral_containers.manifest(MINE, "i", ["sh"], None)]}
        )


def test_a_container_that_cannot_be_told_to_end_keeps_no_other_from_it() -> None:
    api: Any = Api(
        k1={MINE: Guest(image="i", running=True)}, k2={MINE: Guest(image="i", running=True)}
    )
    tell = api.run_in

    def broken(pod: str, container: str, argv: Sequence[str]) -> str:
        if pod == "k1":
            raise ClusterError("no line to k1")
        return str(tell(pod, container, argv))

    api.run_in = broken
    with pytest.raises(ClusterError, match="could not be told to end: no line to k1"):
        ephemeral_containers.end(api, "kafka-harness-r-1-")
    assert 0 == api.guests["k2"][MINE].code


@pytest.mark.parametrize(
    ("guest", "works"),
    [
        (Guest(image="i", running=True), "k1"),
        (Guest(image="i"), "k1"),
        (Guest(image="i", code=0), None),
        (Guest(image="i", trouble="ErrImagePull"), None),
    ],
)
def test_who_works_in_a_pod_is_told_from_who_has_or_never_will(
    guest: Guest, works: str | None
) -> None:
    assert works == ephemeral_containers.at_work({"k1": replace(POD, guests={MINE: guest})})
    assert ephemeral_containers.at_work({"k1": replace(POD, guests={THEIRS: guest})}) is None


def test_only_new_containers_are_put_into_a_pod() -> None:
    api: Any = Api(k1={MINE: Guest(image="old", running=True)})
    stay = sidecar.command("stay", "9")

    ephemeral_containers.put_into(
        api,
        {
            "k1": [
                ephemeral_containers.manifest(name, "new", stay, None)
                for name in (MINE, f"{MINE}2")
            ]
        },
    )

    assert "old" == api.guests["k1"][MINE].image
    assert "new" == api.guests["k1"][f"{MINE}2"].image


def test_the_api_s_pods_tell_of_ephemeral_containers_and_volumes() -> None:
    from harness.cluster.kubernetes.api import _pod  # noqa: PLC0415

    def state(**more: Any) -> Any:
        return SimpleNamespace(**{"running": None, "terminated": None, "waiting": None, **more})

    statuses = [
        SimpleNamespace(name="a", state=state(running=object())),
        SimpleNamespace(name="b", state=state(terminated=SimpleNamespace(exit_code=137))),
        SimpleNamespace(
            name="c", state=state(waiting=SimpleNamespace(reason="ErrImagePull", message="no"))
        ),
    ]
    found = _pod(
        SimpleNamespace(
            metadata=SimpleNamespace(name="p", uid="u", deletion_timestamp=None),
            status=SimpleNamespace(
                pod_ip="1.2.3.4",
                host_ip="1.2.3.5",
                container_statuses=[],
                ephemeral_container_statuses=statuses,
            ),
            spec=SimpleNamespace(
                node_name="m",
                containers=[SimpleNamespace(name="kafka")],
                volumes=[
                    SimpleNamespace(name="data-0", empty_dir=object()),
                    SimpleNamespace(name="conf", empty_dir=None),
                ],
                ephemeral_containers=[SimpleNamespace(name=n, image="i") for n in "abcd"],
            ),
        )
    )

    assert (True, 137, None) == (
        found.guests["a"].running,
        found.guests["b"].code,
        found.guests["d"].code,
    )
    assert "ErrImagePull" in (found.guests["c"].trouble or "")
    assert (("kafka",), ("data-0",)) == (found.containers, found.volatile)


# sidecar.sh as a container's main process


def staying(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KAFKA_HARNESS_FOLDER": str(folder), "HOLDER": sidecar.SCRIPT}
    return subprocess.run(
        [*UNSHARE, "sh", "-c", f"iptables -N HARNESS-3\n{script}\niptables -S"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_stays_until_its_time_is_over_and_undoes_what_is_left(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = staying(tmp_path, 'sh -c "$HOLDER" holder stay 2; echo $?')

    assert 2 <= time.monotonic() - begin
    assert "0\n" in done.stdout
    assert "HARNESS" not in done.stdout.split("0\n")[1]
    assert "kafka-harness: took chain HARNESS-3" in done.stdout.split("0\n")[0]  # in its log


def test_it_ends_when_it_is_told_to_leave(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = staying(tmp_path, 'sh -c "$HOLDER" holder stay 50 & sh -c "$HOLDER" holder leave; wait')

    assert 20 > time.monotonic() - begin
    assert "-N HARNESS" not in done.stdout


def test_it_goes_with_its_pod_at_once_and_lets_rules_stay_as_long_as_that(tmp_path: Path) -> None:
    """As the first process of a namespace it would be spared every signal that it does not trap."""
    call = 'sh -c "$HOLDER" holder stay 50 & sleep 1; kill -TERM $!; wait $!; echo "code $?"'
    done = staying(tmp_path, call)

    assert "code 143" in done.stdout
    assert "HARNESS-3" in done.stdout
