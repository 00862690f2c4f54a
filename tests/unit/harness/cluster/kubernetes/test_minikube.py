"""What minikube lacks is loaded into it; a program of that name stands in for minikube itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.kubernetes import minikube
from harness.cluster.nodes import ClusterError

PROGRAM = """#!/bin/sh
echo "$@" >>"{folder}/asked"
[ "$4" != ls ] || echo docker.io/kafka-harness/kafka:3.9.2
[ "$5" != no:1 ] || {{ echo "no such image" >&2; exit 3; }}
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "minikube"
    program.write_text(PROGRAM.format(folder=tmp_path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "asked"


def test_an_image_that_is_not_there_is_loaded_once(asked: Path) -> None:
    loaded = minikube.bring("mini", ["kafka-harness/kafka:3.9.2", "mine:1", "mine:1"])

    assert ["mine:1"] == loaded
    assert ["--profile mini image ls", "--profile mini image load mine:1"] == (
        asked.read_text().splitlines()
    )


@pytest.mark.usefixtures("asked")
def test_an_image_that_nobody_has_is_told_with_the_remedy() -> None:
    with pytest.raises(ClusterError, match="load no:1: no such image; `kafka-harness image`"):
        minikube.bring("mini", ["no:1"])


def test_without_the_program_nothing_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert [] == minikube.bring("mini", ["mine:1"])


@pytest.mark.parametrize(
    ("extensions", "profile"),
    [
        ([{"extension": {"provider": "minikube.sigs.k8s.io"}, "name": "context_info"}], "mini"),
        ([{"extension": {"provider": "another"}}], None),
        (None, None),
    ],
)
def test_a_context_is_minikube_s_when_the_kubeconfig_says_so(
    extensions: list[object] | None, profile: str | None
) -> None:
    context = {"name": "mini", "context": {"cluster": "mini", "extensions": extensions}}

    assert profile == minikube.profile_of(context)
