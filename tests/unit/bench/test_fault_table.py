"""The table of verbs and targets: what is tried, what cannot be, and nothing written by hand."""

from __future__ import annotations

import tomllib

from bench import fault_table
from harness.model.effects import Effects
from harness.nemesis.targets import TARGETS
from harness.nemesis.verbs import VERBS
from harness.scenario import file


def line(
    verb: str = "kill", target: str = "leader", *, bit: str | None = "gone"
) -> dict[str, object]:
    return {"verb": verb, "target": target, "bit": bit, "healed": "back", "error": None}


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


def test_a_verb_is_tried_at_every_target_that_can_be() -> None:
    wanted, tried = {}, {}
    for verb in (name for name, verb in VERBS.items() if verb.trial):
        chosen = fault_table.chosen_for(verb)
        wanted[verb] = [name for name in TARGETS if not fault_table.reason(verb, name, chosen)]
        text = fault_table.text_of(verb, wanted[verb], chosen.topic.replication_factor, "any")
        made = file.checked(file._lists_to_tuples(tomllib.loads(text)))
        tried[verb] = [fault.target for fault in made.faults if fault.verb == verb]

    assert wanted == tried
    assert [] == [verb for verb, targets in wanted.items() if not targets]


def test_proofs_and_tries_are_counted() -> None:
    table = fault_table.render([line(), line(bit=None), line(target="all")])
    row = next(row for row in table.splitlines() if row.startswith("| `kill`"))

    assert "leader 1/2, all 1/1 |" in row
    assert ", controller," in row.split("|")[3]


def test_a_pair_that_cannot_be_has_its_reason() -> None:
    table = fault_table.render([])
    row = next(row for row in table.splitlines() if row.startswith("| `roll`"))

    assert "zk-all, producer" in row
    assert "roll does not apply there, only to a broker" in row


def test_every_verb_that_hits_brokers_can_hit_the_coordinators() -> None:
    """Somebody must have a group and transactions for that."""
    verbs = [name for name, verb in VERBS.items() if not verb.targets and "broker" in verb.hits]
    refused = {
        (verb, target): why
        for verb in verbs
        for target in ("group-coordinator", "transaction-coordinator")
        if (why := fault_table.reason(verb, target, fault_table.chosen_for(verb)))
    }

    assert not refused


def test_what_is_not_tried_yet_waits_for_a_kernel_with_netem() -> None:
    """In the table of the repository; its third column."""
    rows = [row.split("|") for row in fault_table.render(fault_table.known()).splitlines()[2:]]
    waiting = {row[1].strip(" `") for row in rows if row[3].strip()}

    assert waiting <= {verb for verb in VERBS if VERBS[verb].prepares == "netem"}


def test_what_brings_a_fault_about_comes_before_it_and_the_first_at_a_time_of_its_own() -> None:
    text = fault_table.text_of("elect", ["leader-and-controller", "last-isr"], 2, "kafka2")
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
