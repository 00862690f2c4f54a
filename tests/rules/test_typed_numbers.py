"""What README and the pages of results say that Kafka did is the data's: a number with a unit that
somebody typed is a setting, a definition or a quotation, and stands here with that reason."""

from __future__ import annotations

import re

import pytest

from harness.checkout import ROOT

TEMPLATES = ROOT / "analysis" / "studies" / "templates"
PAGES = ("faq", "study", "study-older", "configurations", "beside", "backends", "kraft")
CAMPAIGNS = ("study", "configurations", "kraft")
NUMBER = re.compile(
    r"(?<![\w.=`/-])\d[\d,.]*(?:–\d[\d,.]*)?\s*(?:s|ms|µs|%|seconds?|minutes?|records?|runs?|failures|"
    r"duplicates)(?![\w-])|\b\d+ of \d+\b"
)
SETTING, DEFAULT = "a setting of these runs", "Kafka's default"
LEVEL = "95 %"  # of all intervals
MEANING = "what a column or a word means"
TYPED = {
    "README.md": {
        "2 s": SETTING,
        "5 ms": SETTING,
        "20 seconds": SETTING,
        "17 s": SETTING,
        "6 s": SETTING,
        "18 s": DEFAULT,
        "20 runs": "how many a cell has",
    },
    "study": {
        "0.5 s": MEANING,
        "0.1 s": MEANING,
        "4 runs": MEANING,
        "18 s": DEFAULT,
        "5 ms": SETTING,
        "5 records": "of superseded runs, which stand in the ledger",
    },
    "study-older": {
        "59 ms": "of the broker's and the client's log of one run",
        "88 ms": "of the client's log of one run",
        "0.5 s": DEFAULT,
        "200 ms": "five records a second, one by one",
        "50 ms": "how often replicas are sampled",
    },
    "configurations": {
        "0.5 s": MEANING,
        "19 runs": MEANING,
        "6 s": SETTING,
        "18 s": DEFAULT,
        "2 s": SETTING,
        "3 s": SETTING,
        "30 s": DEFAULT,
        "1 s": SETTING,
    },
    "study.toml": {
        "0.8 s": "what the study claims",
        "2 s": SETTING,
        "10 s": SETTING,
        "25 s": SETTING,
        "50 s": SETTING,
        "4.5 s": "1 to 1.5 times a setting",
    },
    "configurations.toml": {"18 s": SETTING},
    "kraft.toml": {"10 s": SETTING},
}


def typed(name: str) -> str:
    """What of a page's source is typed: without what is generated, settings in code, and blocks."""
    if name == "README.md":
        text = (ROOT / name).read_text()
        text = re.sub(r"<!-- results.*?<!-- end of", "", text, flags=re.DOTALL)
        return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    if name.endswith(".toml"):
        lines = (ROOT / "docs" / name).read_text().splitlines()
        said = re.compile(r"(claim|note|text|reason|title) = ")
        return "\n".join(line for line in lines if said.match(line))
    text = (TEMPLATES / f"{name}.md.j2").read_text()
    return re.sub(r"\{[{%#].*?[}%#]\}", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    "name", ["README.md", *PAGES, *(f"{campaign}.toml" for campaign in CAMPAIGNS)]
)
def test_no_number_of_what_kafka_did_is_typed(name: str) -> None:
    found = {" ".join(number.split()) for number in NUMBER.findall(typed(name))} - {LEVEL}

    assert found == set(TYPED.get(name, {})), "make it by a command, or say here what it is"
