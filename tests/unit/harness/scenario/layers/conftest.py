"""A scenario, and the texts of the user's files, laid over each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.clients import user_file
from harness.clients.java_keys import ROLES
from harness.scenario.file import open_scenario
from harness.scenario.kafka.modes import mode_of
from harness.scenario.layers.broker_files import (
    BrokerFile,
    read_server_properties,
    read_topic_config,
)
from harness.scenario.layers.lay import Files, Laid, lay
from tests.support.config_files import OWN, LayOver


@pytest.fixture
def laid(tmp_path: Path) -> LayOver:
    """A scenario with these texts as the user's files and these settings."""

    def over(text: str = OWN, settings: Mapping[str, Any] | None = None, **texts: str) -> Laid:
        own = tmp_path / "own.toml"
        own.write_text(text)
        paths = {name: tmp_path / f"{name}.properties" for name in texts}
        for name, path in paths.items():
            path.write_text(texts[name])
        asked = open_scenario(str(own), settings or {})
        read = {
            role: user_file.read(
                paths[role],
                role,
                user_file.Beside(given=asked.own_and_set(f"workload.{role}")[1]),
            )
            for role in ROLES
            if role in paths
        }
        mode = mode_of(asked.shape().cluster)
        server = BrokerFile()
        if "server" in paths:
            server = read_server_properties(paths["server"], mode=mode)
        topic = read_topic_config(paths["topic"]) if "topic" in paths else BrokerFile()
        files = Files(clients=read, paths=paths, server=server, topic=topic)
        return lay(asked, files)

    return over
