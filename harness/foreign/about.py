"""What the user says of an imported history: settings of clients, topic and brokers.

    faults = "none"
    [producer]
    acks = "all"

A setting that is not given is unknown, and neither excuses nor convicts. With `defaults` it is the
client's default instead: true for Kafka's Java client, "2.8" for that release, or "librdkafka".
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from harness.clients.java_keys import Role
from harness.clients.releases import Client, client_of
from harness.history.record_format import HistoryError
from harness.model.client_settings import acks_of
from harness.model.runs import json_text
from harness.model.runs.run_record import problem_of
from harness.model.sections.part import Value
from harness.model.untold import FAULTS, OF_BROKERS, SETTINGS


class About(BaseModel):
    """The contents of --about."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = "an imported history"
    faults: Literal["none", "unknown"] = "unknown"
    defaults: bool | str = False
    new_topic: bool = False  # it was empty before the first send of the history
    partitions: int | None = Field(default=None, ge=1, le=1000)
    replication_factor: int | None = Field(default=None, ge=1, le=1000)
    producer: dict[str, Value] = Field(default={})
    consumer: dict[str, Value] = Field(default={})
    topic: dict[str, Value] = Field(default={})
    server: dict[str, Value] = Field(default={})

    @model_validator(mode="after")
    def _can_be_kept(self) -> Self:
        """Refuse what run.json cannot hold, and TOML or the command line can."""
        json_text.loads(json.dumps(self.model_dump()))
        return self

    @model_validator(mode="after")
    def _keeps_its_records(self) -> Self:
        """Refuse compaction: it deletes records that would be called lost."""
        policy = self.topic.get("cleanup.policy", self.server.get("log.cleanup.policy", "delete"))
        if "compact" in str(policy):
            raise ValueError(
                "cleanup.policy: a compacted log deletes all but the last record of each key, so "
                "nobody can tell what was lost; such histories cannot be judged"
            )
        return self

    @field_validator("defaults")
    @classmethod
    def _is_a_client(cls, defaults: bool | str) -> bool | str:
        if isinstance(defaults, str):
            client_of(defaults)
        return defaults

    @property
    def client(self) -> Client | None:
        """The client whose defaults hold; None: no defaults."""
        if not self.defaults:
            return None
        return client_of("java" if self.defaults is True else self.defaults)

    def config(self, role: Role) -> dict[str, object]:
        """The known settings of a client of that role."""
        given = self.producer if role == "producer" else self.consumer
        return dict(given) if self.client is None else self.client.config(role, given)

    @property
    def without_acks(self) -> bool | None:
        """Whether the producers ask for no acks; None: not known."""
        return None if "acks" in self.untold() else acks_of(self.config("producer")) == "0"

    def untold(self) -> tuple[str, ...]:
        """What is not known: the faults, and settings."""
        faults = () if self.faults == "none" else (FAULTS,)
        if self.defaults:
            return faults
        return (*faults, *(name for name, part in SETTINGS.items() if not self._says(name, part)))

    def _says(self, name: str, part: str) -> bool:
        if name == "replication_factor":
            return self.replication_factor is not None
        own = name in getattr(self, part)
        return own or (part == "topic" and OF_BROKERS.get(name, name) in self.server)


def read_about(path: Path | None, overrides: dict[str, object]) -> About:
    """What a file says, overridden by the command line. Raises HistoryError."""
    fields = _loaded(path) if path is not None else {}
    for key, value in overrides.items():
        part, _, name = key.rpartition("/")
        section = fields.setdefault(part, {}) if part else fields
        if isinstance(section, dict):
            section[name] = value
    try:
        return About.model_validate(fields)
    except ValidationError as error:
        raise HistoryError(f"{path or 'the options'}: {problem_of(error)}") from None


def _loaded(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise HistoryError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:  # TOML's and UTF-8's alike
        raise HistoryError(f"{path}: no TOML: {error}") from None
