"""What is told to a user names commands that there are wherever the harness is installed."""

from __future__ import annotations

import re

import pytest

from harness.checkout import ROOT
from scripts.user_strings import texts

TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
ONLY_IN_A_CHECKOUT = re.compile(
    rf"\bmake (?:{'|'.join(TARGETS)})\b|\bscripts/|\bcheckout\b|install -e\b|'kafka-harness\["
)
# Pages of this repository, and what `scripts/setup` itself says.
OF_THE_CHECKOUT = ("analysis/studies/", "harness/setup/install.py")


def test_no_text_for_users_names_what_a_checkout_alone_has() -> None:
    told = {place: text for place, text in texts() if not place.startswith(OF_THE_CHECKOUT)}

    assert len(told) > 1000
    assert {} == {place: text for place, text in told.items() if ONLY_IN_A_CHECKOUT.search(text)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it has not been fetched yet: run `make setup`", True),
        ("rm -r {…}; make setup", True),
        ("`make harness-image` makes it", True),
        ("pip install 'kafka-harness[docker]'", True),
        ("pip install -e .", True),
        ("run scripts/setup", True),
        ("make room and make the folder writable", False),
        ("run `kafka-harness setup`", False),
    ],
)
def test_such_a_text_is_seen_and_others_are_not(text: str, found: bool) -> None:
    assert found is bool(ONLY_IN_A_CHECKOUT.search(text))
