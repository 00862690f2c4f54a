"""The table of verbs and targets: what is tried, what cannot be, and nothing written by hand."""

from __future__ import annotations

import tomllib

import pytest

from bench import fault_table
from harness.model.effects import Effects
from harness.nemesis.verbs import VERBS
from harness.scenario import file
from harness.scenario.kafka.release import normalize

ZOOKEEPER, KRAFT = fault_table.KINDS
EACH = pytest.mark.parametrize("kind", fault_table.KINDS, ids=lambda kind: kind.name)


def line(
    verb: str = "kill", target: str = "leader", *, bit: str | None = "gone", **more: str
) -> dict[str, object]:
    return {"verb": verb, "target": target, "bit": bit, "healed": "back", "error": None, **more}


def cells(table: str, verb: str) -> list[str]:
    """A row's: of ZooKeeper what was proved and what cannot be, then of KRaft."""
    row = next(row for row in table.splitlines() if row.startswith(f"| `{verb}`"))
    return [cell.strip() for cell in row.split("|")[2:-1]]


def test_the_table_in_the_repository_is_the_one_that_its_data_give() -> None:
    page = fault_table.PAGE.read_text()

    assert page == fault_table.with_table(page, fault_table.render(fault_table.known()))


def test_the_effects_in_the_repository_are_those_that_the_verbs_state() -> None:
    page = fault_table.PAGE.read_text()

    assert fault_table.EFFECTS_BEGIN in page
    assert page == fault_table.with_effects(page)
    assert all(f"`{verb}`" in page for verb in VERBS)


def test_every_effect_has_words() -> None:
    fields = [
        {"leadership": "if-seen"},
        {"leadership": "where-it-hits"},
        {"leadership": "anywhere"},
        {"takes": "unsynced"},
        {"takes": "all"},
        {"alters_stored_bytes": True},
        {"topic_settings": {"flush.ms": "1"}},
        {"ends_processes": True},
        {"starts_again": True},
        {},
    ]
    words = [fault_table.effects_words(Effects.model_validate(each)) for each in fields]

    assert len({*words, fault_table.effects_words(None)}) == len(fields) + 1


@EACH
def test_a_verb_is_tried_at_every_target_that_can_be(kind: fault_table.Kind) -> None:
    wanted, tried = {}, {}
    for verb in (name for name, verb in VERBS.items() if verb.trial):
        chosen = fault_table.chosen_for(kind, verb)
        wanted[verb] = [name for name in kind.words if not fault_table.reason(verb, name, chosen)]
        if not wanted[verb]:
            continue
        tables = tomllib.loads(fault_table.text_of(kind, verb, wanted[verb], chosen, "any"))
        made = file.checked_scenario(normalize(tables, {}).raw)
        tried[verb] = [fault.target for fault in made.faults if fault.verb == verb]

    nowhere = {verb for verb, targets in wanted.items() if not targets}
    assert tried == {verb: targets for verb, targets in wanted.items() if targets}
    assert nowhere == ({"remove-controller", "add-controller"} if kind is ZOOKEEPER else set())


def test_proofs_and_tries_are_counted_by_kind_of_cluster() -> None:
    stopped = {**line(bit=None), "error": "stopped while waiting for kafka1 to be back"}
    lines = [line(), line(bit=None), stopped, line(target="all")]
    lines += [line(target="one", metadata="kraft")]
    proved, _, of_kraft, _ = cells(fault_table.render(lines), "kill")

    assert proved.startswith("leader 1/2, all 1/1; not tried yet: follower")
    assert ", controller," in proved
    assert of_kraft.startswith("one 1/1; not tried yet: leader, ")


def test_a_pair_that_cannot_be_has_its_reason() -> None:
    _, never, _, never_on_kraft = cells(fault_table.render([]), "roll")

    assert "zk-all, producer" in never
    assert "roll does not apply there, only to a broker" in never
    assert "leader-and-controller: no broker is the controller" in never_on_kraft


@EACH
def test_every_verb_that_hits_brokers_can_hit_the_coordinators(kind: fault_table.Kind) -> None:
    """Somebody must have a group and transactions for that."""
    verbs = [name for name, verb in VERBS.items() if not verb.targets and "broker" in verb.hits]
    refused = {
        (verb, target): why
        for verb in verbs
        for target in ("group-coordinator", "transaction-coordinator")
        if (why := fault_table.reason(verb, target, fault_table.chosen_for(kind, verb)))
    }

    assert not refused


def test_what_is_not_tried_yet_waits_for_a_kernel_with_netem() -> None:
    """In the table of the repository."""
    table = fault_table.render(fault_table.known())
    told = {verb: cells(table, verb) for verb in fault_table.LOCAL}
    netem = {verb for verb in VERBS if VERBS[verb].prepares == "netem"}

    for kind in (0, 2):  # with ZooKeeper, with KRaft
        assert {verb for verb, row in told.items() if fault_table.NOT_YET in row[kind]} <= netem


def test_what_brings_a_fault_about_comes_before_it_and_the_first_at_a_time_of_its_own() -> None:
    targets = ["leader-and-controller", "last-isr"]
    chosen = fault_table.chosen_for(ZOOKEEPER, "elect")
    text = fault_table.text_of(ZOOKEEPER, "elect", targets, chosen, "kafka2")
    faults = tomllib.loads(text)["faults"]

    assert [(fault["verb"], fault["target"], fault.get("when")) for fault in faults] == [
        ("kill", "kafka1", None),
        ("kill", "kafka2", "in-force"),
        ("reassign", "leader", "healed"),
        ("elect", "leader-and-controller", "healed"),
        ("reassign", "leader", "healed"),
        ("stop", "preferred-leader", "healed"),
        ("elect", "last-isr", "in-force"),
    ]
    assert faults[0]["at_s"] == 1
