"""Reads the user's own files, and checks them against the run's Kafka.

One error names all that is wrong with the files and with the scenario's own keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.clients import user_file
from harness.clients.java_keys import ROLES, Role
from harness.config_files.settings import ConfigFileError, listed
from harness.model.client_settings import by_one_name
from harness.model.scenario import ScenarioError
from harness.scenario.client_keys import wrong_keys
from harness.scenario.file import Source
from harness.scenario.kafka.keys import Release, check_keys
from harness.scenario.kafka.modes import mode_of
from harness.scenario.layers.broker_files import (
    BrokerFile,
    read_server_properties,
    read_topic_config,
)
from harness.scenario.layers.lay import Files, with_broker_files
from harness.scenario.layers.topic_synonyms import DECISIVE

Paths = Mapping[str, Path]  # producer, consumer, server, topic: those that are given


def read_files(
    own: Source, paths: Paths, release: Release, *, foreign: bool
) -> tuple[Files, tuple[str, ...]]:
    """The files of a run of that scenario, and notes on them. Raises ScenarioError."""
    shape = own.shape()
    wrong: list[str] = []
    clients: dict[Role, user_file.ClientConfig] = {}
    for role in ROLES:
        known = release.known
        beside = user_file.Beside(
            client=shape.workload.client_defaults,
            foreign=foreign,
            values=getattr(known, role) if known else {},
            others=release.others,
            given=by_one_name(own.own_and_set(f"workload.{role}")[1]),
        )
        if role in paths:
            try:
                clients[role] = user_file.read(paths[role], role, beside)
            except ConfigFileError as error:
                wrong += error.sentences
    server, topic = _of_nodes(own, paths, release, wrong)
    files = Files(clients=clients, paths=paths, server=server, topic=topic)
    with_files, _, _ = with_broker_files(own, files)
    lines = {f"cluster.{server.section}": _not_set_of_nodes(own, server, server.labels)}
    # The topic takes its DECISIVE settings from a broker's file, too.
    decisive = {k: line for k, line in server.labels.items() if k in DECISIVE}
    lines["topic.config"] = _not_set(own, "topic.config", {**decisive, **topic.labels})
    findings = check_keys(own.shape(with_files), release, lines)
    in_file = tuple(place for places in lines.values() for place in places.values())
    reported = tuple(
        of.labels[key] for of in (server, topic) for key in of.wrong if key in of.labels
    )
    wrong += [
        sentence if sentence.startswith(in_file) else f"{own.which}: {sentence}"
        for sentence in findings.wrong
        if not sentence.startswith(reported)
    ]
    wrong += [f"{own.which}: {sentence}" for sentence in wrong_keys(shape)]
    if wrong:
        raise ScenarioError(listed(dict.fromkeys(wrong)))
    notes = [note for role in clients for note in clients[role].notes]
    return files, (
        *notes,
        *server.notes,
        *topic.notes,
        *findings.notes,
        *_unchecked(paths, release),
    )


def _of_nodes(
    own: Source, paths: Paths, release: Release, wrong: list[str]
) -> tuple[BrokerFile, BrokerFile]:
    """A broker's and a topic's file; adds what is wrong with them to `wrong`."""
    server, topic = BrokerFile(), BrokerFile()
    try:
        if "server" in paths:
            known = release.known.server if release.known else None
            server = read_server_properties(
                paths["server"],
                known,
                release.others,
                mode=mode_of(own.shape().cluster),
                lacks=release.lacks,
            )
    except ConfigFileError as error:
        wrong += error.sentences
    try:
        if "topic" in paths:
            topic = read_topic_config(paths["topic"])
    except ConfigFileError as error:
        wrong += error.sentences
    wrong += _not_set_of_nodes(own, server, server.wrong).values()
    wrong += _not_set(own, "topic.config", _not_set(own, "topic", topic.wrong)).values()
    return server, topic


def _not_set_of_nodes(own: Source, file: BrokerFile, lines: Mapping[str, str]) -> dict[str, str]:
    of_both = _not_set(own, "cluster.server", lines)
    return _not_set(own, f"cluster.{file.section}", of_both)


def _not_set(own: Source, section: str, lines: Mapping[str, str]) -> dict[str, str]:
    """The lines of the keys that `--set` does not overrule."""
    _, given = own.own_and_set(section)
    return {key: line for key, line in lines.items() if key not in given}


def _unchecked(paths: Paths, release: Release) -> list[str]:
    files = ", ".join(str(paths[role]) for role in ROLES if role in paths)
    if not files or release.known is not None:
        return []
    return [f"the values of {files} were not checked by what Kafka's jars say: {release.why}"]
