"""Settings and partitions that an operator changes: by requests, proved by them, undone."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness.cluster.admin.admin import Admin, Resource, Setting
from harness.cluster.admin.topics import Topics
from harness.cluster.nodes import NotInTime
from harness.nemesis.faults.admin.settings import SetConfigOptions
from harness.nemesis.target import Setting as SettingOfScenario
from harness.nemesis.targets import target_of
from harness.nemesis.verbs import VERBS
from tests.support.labs.small_cluster import KAFKA1, injection

SETTING = SettingOfScenario(
    brokers=3, zookeepers=3, partitions=1, replicas=3, workers={}, transactions=False
)


def test_partitions_that_came_have_leaders(small, monkeypatch):
    totals = list[int]()

    def add(_: Topics, topic: str, total: int) -> None:
        assert topic == "t"
        totals.append(total)

    monkeypatch.setattr(Topics, "add_partitions", add)
    verb, made = VERBS["add-partitions"], injection(small, KAFKA1, count=2)
    verb.inject(made)
    small.added = {1: SimpleNamespace(leader=2)}
    assert verb.proof_in_force(made) is None
    small.added[2] = SimpleNamespace(leader=None)
    assert verb.proof_in_force(made) is None
    small.added[2] = SimpleNamespace(leader=3)

    assert verb.proof_in_force(made) == "topic t has 3 partitions, had 1; each has a leader"
    assert totals == [3]
    assert small.partitions == 1
    small.follows_added = True
    assert verb.proof_in_force(made)
    assert small.partitions == 3


@pytest.mark.parametrize(
    ("elr", "options", "refused"),
    [
        (True, {"on": "brokers", "min.insync.replicas": 2}, True),
        (True, {"min.insync.replicas": 2}, False),
        (True, {"on": "brokers", "num.io.threads": 2}, False),
        (False, {"on": "brokers", "min.insync.replicas": 2}, False),
    ],
)
def test_brokers_with_eligible_replicas_have_no_minimum_of_their_own(elr, options, refused):
    """KIP-966: Kafka answers INVALID_CONFIG."""
    setting, at = replace(SETTING, elr=elr), target_of("leader", SETTING)
    assert at is not None

    why = VERBS["set-config"].impossible(setting, at, SetConfigOptions.of(options))

    assert (why is not None and 'on = "topic"' in why) is refused


def settings_of(
    monkeypatch: pytest.MonkeyPatch, there: dict[str, str | None]
) -> list[dict[str, str | None]]:
    """Whoever is asked has these, but where "deaf" is one of them; returns the changes to come."""
    changes = list[dict[str, str | None]]()

    def settings(_: Admin, __: Resource) -> dict[str, Setting]:
        if "deaf" in there:
            raise NotInTime("waited 30 s for the settings of topic t")
        return {name: Setting(value=value, own=value) for name, value in there.items()}

    def change(_: Admin, __: Resource, wanted: dict[str, str | None]) -> None:
        changes.append(wanted)
        there.update(wanted)
        for name in [name for name, value in wanted.items() if value is None]:
            del there[name]

    monkeypatch.setattr(Admin, "settings", settings)
    monkeypatch.setattr(Admin, "change", change)
    return changes


def test_a_setting_that_nobody_could_be_asked_for_at_first_is_set_later(small, monkeypatch):
    there: dict[str, str | None] = {"deaf": ""}
    changes = settings_of(monkeypatch, there)
    verb, made = VERBS["set-config"], injection(small, KAFKA1, **{"min.insync.replicas": 2})
    verb.inject(made)
    with pytest.raises(NotInTime, match="the settings of topic t"):
        verb.proof_in_force(made)
    there.pop("deaf")

    for _ in range(2):
        assert verb.proof_in_force(made) == "topic t: min.insync.replicas is 2, was unset"
    assert len(changes) == 1
    verb.heal(made)
    assert verb.healed(made) == "min.insync.replicas as before"


def test_a_setting_that_brokers_do_not_list_is_set_and_removed_again(small, monkeypatch):
    """Of what has no default, as the throttle of replication, nobody tells before it is set."""
    key, there = "leader.replication.throttled.rate", dict[str, str | None]()
    settings_of(monkeypatch, there)
    verb, made = VERBS["set-config"], injection(small, KAFKA1, on="brokers", **{key: 50000})

    verb.inject(made)
    assert verb.proof_in_force(made) == f"broker 1: {key} is 50000, was unset"
    verb.heal(made)
    assert verb.healed(made) == f"{key} as before"
    assert there == {}
