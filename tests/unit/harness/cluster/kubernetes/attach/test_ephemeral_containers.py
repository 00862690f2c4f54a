"""Ephemeral containers in pods that are not ours: how they begin, heal and end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster.kubernetes.attach import ephemeral_containers
from harness.cluster.kubernetes.attach.ephemeral_containers import PROCESS
from harness.cluster.kubernetes.pod_watch import EphemeralContainer, Pod
from harness.cluster.nodes import ClusterError
from harness.cluster.sidecar import heartbeat

pytest.importorskip("kubernetes", reason="the extra kubernetes is not installed")


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

    def __init__(self, **of_pods: dict[str, EphemeralContainer]) -> None:
        self.ephemeral = of_pods
        self.asked: list[tuple[str, str, str]] = []
        self.log_of: dict[str, str] = {}

    def pods(self, _: str) -> Mapping[str, Pod]:
        return {
            name: replace(POD, name=name, ephemeral=dict(g)) for name, g in self.ephemeral.items()
        }

    def run_in(self, pod: str, container: str, argv: Sequence[str]) -> str:
        self.asked.append((pod, container, argv[4]))
        if argv[4] == "leave":
            self.ephemeral[pod][container] = EphemeralContainer(image="i", code=0)
        return "removed chain HARNESS-1 of table filter\n" if argv[4] == "undo" else ""

    def log(self, _: str, container: str) -> str:
        return self.log_of.get(container, "")

    def put_into(self, pod: str, containers: Sequence[Mapping[str, Any]]) -> None:
        for each in containers:
            done = each["command"][4] == "undo"
            state = EphemeralContainer(
                image=each["image"], running=not done, code=0 if done else None
            )
            self.ephemeral[pod][each["name"]] = state
            self.log_of[each["name"]] = "kafka-harness: removed chain HARNESS-2 of table filter\n"


MINE, THEIRS = "kafka-harness-r-1-links", "debugger-links"


def test_heal_tells_what_was_undone_by_itself_undoes_the_rest_and_ends_what_runs() -> None:
    api: Any = Api(
        k1={
            MINE: EphemeralContainer(image="i", running=True),
            THEIRS: EphemeralContainer(image="x", code=1),
        }
    )
    api.log_of[MINE] = "kafka-harness: resumed process 7\nsomething else\n"

    assert [
        "k1: resumed process 7 (automatically)",
        "k1: removed chain HARNESS-1 of table filter",
    ] == ephemeral_containers.heal(api)
    assert [("k1", MINE, "undo"), ("k1", MINE, "leave")] == api.asked


def test_what_a_killed_container_could_not_undo_another_does() -> None:
    api: Any = Api(k1={MINE: EphemeralContainer(image="i", code=137)})

    assert ["k1: removed chain HARNESS-2 of table filter"] == ephemeral_containers.heal(api)
    made = [each for name, each in api.ephemeral["k1"].items() if name != MINE]
    assert ["i"] == [each.image for each in made]


def test_one_that_has_ended_in_order_is_left_alone() -> None:
    api: Any = Api(k1={MINE: EphemeralContainer(image="i", code=0)})
    api.log_of[MINE] = "kafka-harness: resumed process 7\n"

    assert [] == ephemeral_containers.heal(api)
    assert ["k1: resumed process 7 (automatically)"] == ephemeral_containers.heal(
        api, "kafka-harness-r-1-"
    )


def test_a_container_that_cannot_begin_ends_the_set_up() -> None:
    api: Any = Api(k1={MINE: EphemeralContainer(image="i", trouble="ErrImagePull: no such image")})

    with pytest.raises(ClusterError, match="in pod k1 is not running: ErrImagePull"):
        ephemeral_containers.put_into(
            api, {"k1": [ephemeral_containers.manifest(MINE, "i", ["sh"], None)]}
        )


def test_a_container_that_cannot_be_told_to_end_keeps_no_other_from_it() -> None:
    api: Any = Api(
        k1={MINE: EphemeralContainer(image="i", running=True)},
        k2={MINE: EphemeralContainer(image="i", running=True)},
    )
    tell = api.run_in

    def broken(pod: str, container: str, argv: Sequence[str]) -> str:
        if pod == "k1":
            raise ClusterError("no line to k1")
        return str(tell(pod, container, argv))

    api.run_in = broken
    with pytest.raises(ClusterError, match="could not be stopped: no line to k1"):
        ephemeral_containers.end(api, "kafka-harness-r-1-")
    assert 0 == api.ephemeral["k2"][MINE].code


@pytest.mark.parametrize(
    ("guest", "works"),
    [
        (EphemeralContainer(image="i", running=True), "k1"),
        (EphemeralContainer(image="i"), "k1"),
        (EphemeralContainer(image="i", code=0), None),
        (EphemeralContainer(image="i", trouble="ErrImagePull"), None),
    ],
)
def test_who_works_in_a_pod_is_told_from_who_has_or_never_will(
    guest: EphemeralContainer, works: str | None
) -> None:
    assert works == ephemeral_containers.at_work({"k1": replace(POD, ephemeral={MINE: guest})})
    assert ephemeral_containers.at_work({"k1": replace(POD, ephemeral={THEIRS: guest})}) is None


def test_only_new_containers_are_put_into_a_pod() -> None:
    api: Any = Api(k1={MINE: EphemeralContainer(image="old", running=True)})
    stay = heartbeat.command("stay", "9")

    ephemeral_containers.put_into(
        api,
        {
            "k1": [
                ephemeral_containers.manifest(name, "new", stay, None)
                for name in (MINE, f"{MINE}2")
            ]
        },
    )

    assert "old" == api.ephemeral["k1"][MINE].image
    assert "new" == api.ephemeral["k1"][f"{MINE}2"].image


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
        found.ephemeral["a"].running,
        found.ephemeral["b"].code,
        found.ephemeral["d"].code,
    )
    assert "ErrImagePull" in (found.ephemeral["c"].trouble or "")
    assert (("kafka",), ("data-0",)) == (found.containers, found.volatile)
