"""docs/faults.md says of every verb what it can do."""

from __future__ import annotations

import re

from harness.checkout import DOCS
from harness.model.effects import Effects
from harness.nemesis.targets import TARGETS
from harness.nemesis.verbs import VERBS

ROW = re.compile(r"^\| (?P<effect>[^|`]+) \| (?P<verbs>[^|]+) \|$", re.MULTILINE)


def of_page() -> dict[str, set[str]]:
    """The verbs by effect, but for the row that needs an option."""
    part = (DOCS / "faults.md").read_text().split("### Effects\n", 1)[1].split("\n## ", 1)[0]
    rows = {
        row["effect"]: set(re.findall(r"`([\w-]+)`", row["verbs"])) for row in ROW.finditer(part)
    }
    own = {effect: verbs for effect, verbs in rows.items() if "if that is seen" not in effect}
    return {effect: verbs for effect, verbs in own.items() if verbs}  # not the head


def of_code() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, verb in VERBS.items():
        effects = verb.effects_at(TARGETS["leader"], verb.options.example())
        assert effects is not None, name
        for effect in words(effects):
            found.setdefault(effect, set()).add(name)
    return found


def words(effects: Effects) -> list[str]:
    where = "another broker may lead, "
    said = {
        f"{where}whoever is hit": effects.leadership == "anywhere",
        f"{where}where a leader or half of the ensemble is hit": (
            effects.leadership == "where-it-hits"
        ),
        "takes all that a node had written": effects.takes == "all",
        "takes what a node had not synced": effects.takes == "unsynced",
        "alters stored bytes": effects.alters_stored_bytes,
        "changes the topic's settings": bool(effects.topic_settings),
    }
    return [effect for effect, holds in said.items() if holds] or ["none of these"]


def test_the_page_says_of_every_verb_what_it_can_do() -> None:
    assert of_code() == of_page()
