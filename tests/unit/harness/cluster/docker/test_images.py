"""Which image a run's containers are made of, and when there is none."""

from __future__ import annotations

import pytest

from harness.cluster.docker import images
from harness.model.scenario import ClusterPart

PLAIN = ClusterPart()
OLD = ClusterPart(kafka="2.8.2", metadata="zookeeper")
NEW = ClusterPart(kafka="4.4.0", metadata="kraft")


@pytest.fixture(autouse=True)
def _nobody_has_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in images.VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_beside_zookeeper_they_are_pinned_unless_chosen() -> None:
    assert images.of_nodes(PLAIN, "") == {
        "kafka": "confluentinc/cp-kafka:7.9.4",
        "zookeeper": "confluentinc/cp-zookeeper:7.9.4",
    }
    assert images.variables(PLAIN, "") == {}
    assert {"mine:1"} == {*images.of_nodes(PLAIN, "mine:1").values()}
    assert images.variables(PLAIN, "mine:1") == dict.fromkeys(images.VARIABLES, "mine:1")


def test_with_kraft_it_is_apache_s_of_the_release_unless_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert images.of_nodes(NEW, "") == {"kafka": "apache/kafka:4.4.0"}
    assert images.variables(NEW, "") == {images.KAFKA: "apache/kafka:4.4.0"}

    monkeypatch.setenv(images.KAFKA, "confluentinc/cp-kafka:8.0.0")
    assert images.of_nodes(NEW, "") == {"kafka": "confluentinc/cp-kafka:8.0.0"}
    assert images.variables(NEW, "") == {}
    assert images.of_nodes(NEW, "mine:1") == {"kafka": "mine:1"}


@pytest.mark.parametrize(
    ("cluster", "image", "why"),
    [
        (PLAIN, "", None),
        (PLAIN, "acme/kafka:2.8.1", None),  # who names no release runs what there is
        (NEW, "", None),
        (NEW, "acme/kafka:ours", None),
        (NEW, "kafka-harness/kafka:4.4.0", None),
        (OLD, "confluentinc/cp-kafka:6.2.15", None),
        (
            ClusterPart(kafka="3.6.2", metadata="kraft"),
            "",
            "there is no apache/kafka:3.6.2, Apache's images begin with 3.7: make one with "
            "`kafka-harness image --kafka 3.6.2` and add "
            "--set backend.docker.image=kafka-harness/kafka:3.6.2",
        ),
        (
            NEW.model_copy(update={"features": {"kraft.version": 0}}),
            "",
            "cluster.features: apache/kafka:4.4.0 does not format disks with levels of features",
        ),
        (
            NEW.model_copy(update={"features": {"kraft.version": 0}}),
            "example.org/kafka-harness/kafka:4.4.0",
            None,
        ),
    ],
)
def test_an_image_that_is_not_there_or_cannot_do_it_is_refused(
    cluster: ClusterPart, image: str, why: str | None
) -> None:
    found = images.problem(cluster, image)

    assert found is None if why is None else why in (found or "")
