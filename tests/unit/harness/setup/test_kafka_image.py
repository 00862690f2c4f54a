"""The image of the nodes: of which release, trained for what."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from harness.commands.host import setup
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


def test_the_start_script_is_told_what_to_train_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[Any] = []

    def run(image: str, argv: list[str], **_: Any) -> Any:
        ran.append((image, argv))
        return SimpleNamespace(
            wait=lambda **_: {"StatusCode": 0},
            commit=lambda **wanted: ran.append((wanted["repository"], wanted["tag"])),
            remove=lambda **_: None,
        )

    client = SimpleNamespace(
        images=SimpleNamespace(list=lambda _: [], build=lambda **_: None),
        containers=SimpleNamespace(run=run),
    )
    (tmp_path / "libs").mkdir()
    monkeypatch.setattr(kafka_image, "engine", lambda: client)
    monkeypatch.setattr(kafka_image, "root_filesystem", lambda *_: tmp_path)
    monkeypatch.setattr(kafka_image, "import_base", lambda *_: "base:1")
    home = KafkaHome(libs=tmp_path / "libs", version="4.4.0", archives=tmp_path)

    assert kafka_image.make(home, lambda _: None) == "kafka-harness/kafka:4.4.0"
    assert ran == [
        ("kafka-harness/kafka:4.4.0-untrained", ["/etc/confluent/docker/run", "train", "kraft"]),
        ("kafka-harness/kafka", "4.4.0"),
    ]


@pytest.mark.parametrize(
    ("word", "release", "asked"),
    [("", "3.9.2", "run SCENARIO --backend"), ("4.4", "4.4.0", "SCENARIO --kafka 4.4.0 --backend")],
)
def test_the_command_fetches_the_release_that_it_makes_an_image_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, word: str, release: str, asked: str
) -> None:
    def fetched(wanted: str, _: Any) -> KafkaHome:
        return KafkaHome(libs=tmp_path, version=wanted, archives=tmp_path)

    monkeypatch.setattr(setup, "fetch", fetched)
    monkeypatch.setattr(kafka_image, "make", lambda home, _: kafka_image.image_of(home))
    said = io.StringIO()

    assert setup.make_image(word, None, Console(file=said, width=200)) == 0
    assert asked in said.getvalue()
    assert f"backend.docker.image=kafka-harness/kafka:{release}" in said.getvalue()
