"""The image of the nodes: of which release, trained for what."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from harness.commands.host import setup
from harness.distribution import kafka_home
from harness.distribution.kafka_home import KafkaHome
from harness.setup import kafka_image


@pytest.mark.parametrize(
    ("release", "modes"),
    [
        ("2.8.2", ["zookeeper"]),
        ("3.9.2", ["zookeeper", "kraft"]),
        ("4.4.0", ["kraft"]),
    ],
)
def test_an_image_is_trained_for_whatever_its_release_can_keep_metadata_in(
    release: str, modes: list[str]
) -> None:
    assert kafka_image.modes_of(release) == modes


@pytest.fixture
def home(tmp_path: Path) -> KafkaHome:
    (tmp_path / "libs").mkdir()
    return KafkaHome(libs=tmp_path / "libs", version="4.4.0", archives=tmp_path)


class Engine:
    """A Docker engine that has images of some recipes, and notes what it runs and commits."""

    def __init__(self, *recipes: str) -> None:
        there = [SimpleNamespace(labels={kafka_image.RECIPE: each}) for each in recipes]
        self.did: list[Any] = []
        self.images = SimpleNamespace(list=lambda _: there, build=lambda **_: None)
        self.containers = SimpleNamespace(run=self._run)

    def _run(self, image: str, argv: list[str], **_: Any) -> Any:
        self.did.append((image, argv))
        return SimpleNamespace(
            wait=lambda **_: {"StatusCode": 0},
            commit=lambda **wanted: self.did.append((wanted["repository"], wanted["tag"])),
            remove=lambda **_: None,
        )


def made_by(engine: Engine, home: KafkaHome, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(kafka_image, "engine", lambda: engine)
    monkeypatch.setattr(kafka_image, "root_filesystem", lambda *_: home.libs)
    monkeypatch.setattr(kafka_image, "import_base", lambda *_: "base:1")

    assert kafka_image.make(home, lambda _: None) == "kafka-harness/kafka:4.4.0"
    return engine.did


TRAINED = [
    ("kafka-harness/kafka:4.4.0-untrained", ["/etc/confluent/docker/run", "train", "kraft"]),
    ("kafka-harness/kafka", "4.4.0"),
]


def test_the_start_script_is_told_what_to_train_for(
    monkeypatch: pytest.MonkeyPatch, home: KafkaHome
) -> None:
    assert made_by(Engine(), home, monkeypatch) == TRAINED


def test_an_image_is_made_again_once_its_recipe_is_another(
    monkeypatch: pytest.MonkeyPatch, home: KafkaHome
) -> None:
    now = kafka_image.recipe_of(["kraft"])

    assert made_by(Engine(now), home, monkeypatch) == []
    assert made_by(Engine("an older one"), home, monkeypatch) == TRAINED
    assert now != kafka_image.recipe_of(["zookeeper"])


@pytest.mark.parametrize(
    ("word", "release", "asked"),
    [("", "3.9.2", "run SCENARIO --backend"), ("4.4", "4.4.0", "SCENARIO --kafka 4.4.0 --backend")],
)
def test_the_command_fetches_the_release_that_it_makes_an_image_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, word: str, release: str, asked: str
) -> None:
    def fetched(wanted: str, _: Any) -> KafkaHome:
        return KafkaHome(libs=tmp_path, version=wanted, archives=tmp_path)

    monkeypatch.setattr(kafka_home, "fetch", fetched)
    monkeypatch.setattr(kafka_image, "make", lambda home, _: kafka_image.image_of(home))
    said = io.StringIO()

    monkeypatch.setattr(setup, "console", Console(file=said, width=200))

    setup.image(word, None)
    assert asked in said.getvalue()
    assert f"backend.docker.image=kafka-harness/kafka:{release}" in said.getvalue()
