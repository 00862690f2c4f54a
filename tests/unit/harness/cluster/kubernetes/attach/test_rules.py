"""A Kafka in pods that is not ours: what is refused before a run, and what a plan needs."""

from __future__ import annotations

from typing import Any

import pytest

from harness.cluster.kubernetes import location
from harness.cluster.kubernetes.attach.ephemeral_containers import LINKS, PROCESS
from harness.cluster.kubernetes.attach.run_containers import kinds_for
from harness.model.plan import Step
from harness.model.scenario import ScenarioError
from harness.nemesis.plan import requirements
from harness.nemesis.targets import target_of
from harness.scenario.file import read_scenario
from harness.scenario.prepare import Request, prepare
from harness.scenario.rules import setting_of

SETTING = setting_of(read_scenario("baseline", {"workload.kind": "stream"}))
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
        ("kill is not available on the backend kubernetes in pods that", "kill", "leader", {}),
        ("where the kubelet restarts a stopped container at once: choose", "kill", "leader", {}),
        ("or one of pause, cut, lose, throttle", "roll", "all", {}),
        (
            "elect is not available on the backend kubernetes in pods",
            "elect",
            "preferred-leader",
            {},
        ),
        ("zk1 cannot be a target on the backend kubernetes", "cut", "zk1", {}),
        (
            "pause is not available on the backend kubernetes without",
            "pause",
            "leader",
            {"backend.kubernetes.attach.image": ""},
        ),
        (
            "attach.namespace: name the namespace",
            "cut",
            "leader",
            {"backend.kubernetes.attach.namespace": ""},
        ),
        (
            "attach.selectors.brokers: give the labels",
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
            'from = "quorum": give the labels of its pods in',
            "cut",
            "leader",
            {"options": {"from": "quorum"}},
        ),
        (
            "selectors has ZooKeepers and controllers, of which a cluster has one kind",
            "cut",
            "leader",
            {
                "backend.kubernetes.attach.selectors.zookeepers": "app=zk",
                "backend.kubernetes.attach.selectors.controllers": "app=controller",
            },
        ),
        (
            "quorum-leader cannot be a target on the backend kubernetes",
            "cut",
            "quorum-leader",
            {},
        ),
        (
            "zk-leader: KRaft has no ZooKeeper",
            "cut",
            "zk-leader",
            {"backend.kubernetes.attach.selectors.controllers": "app=controller"},
        ),
        (
            "kill is not available on the backend kubernetes in pods that",
            "kill",
            "controller",
            {"backend.kubernetes.attach.selectors.controllers": "app=controller"},
        ),
        (
            "are not the harness's",
            "cut",
            "leader",
            {"cluster.server": {"min.insync.replicas": 2}},
        ),
        (
            "backend.kubernetes.namespace is for clusters that the harness makes",
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

    assert {LINKS} == kinds_for(requirements(prepared.steps, setting_of(prepared.scenario)))
    assert location.attaches(prepared.scenario)


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
    without = requirements([step("delete-pod"), step("pause", "producers")], SETTING)
    both = requirements([step("throttle"), step("pause")], SETTING)

    assert frozenset() == kinds_for(without)
    assert {LINKS, PROCESS} == kinds_for(both)


def test_a_plan_says_by_which_words_its_faults_name_other_ends() -> None:
    plan = [step("cut-answers"), step("cut", **{"from": "followers, kafka7"}), step("pause")]

    assert {"clients", "followers", "kafka7"} == requirements([*plan, step("cut")], SETTING).ends


@pytest.mark.parametrize(
    ("controllers", "kind"),
    [
        ("app=controller", "controller"),
        (ATTACH["backend.kubernetes.attach.selectors.brokers"], "broker"),
    ],
)
def test_controllers_that_are_known_are_targets(controllers: str, kind: str) -> None:
    """By any number: they have what the pods' names say."""
    own = {"controller": ["controller7"], "broker": []}[kind]
    targets = ["quorum-leader", "quorum-follower", "controller", *own]
    verbs = ["cut", "pause", "delete-pod"]
    faults = [
        {"verb": verb, "target": target, "at_s": 1, "for_s": 1}
        for verb in verbs
        for target in targets
    ]
    settings = {
        **ATTACH,
        "backend.kubernetes.attach.selectors.controllers": controllers,
        "faults": [{**fault, "at_s": 3 * i + 1} for i, fault in enumerate(faults)],
        "workload.kind": "stream",
        "workload.duration_s": 60,
        "cluster.server": {},
        "cluster.zoo": {},
    }
    request = Request(scenario="baseline", seed=1, backend="kubernetes", settings=settings)
    setting = setting_of(prepare(request).scenario)

    found = [target_of(each, setting) for each in targets]
    assert [each and each.kind for each in found] == [kind] * len(targets)
