"""docs/promises.md is written by a command."""

from __future__ import annotations

from harness.checkout import DOCS, ROOT
from scripts import promises_page
from tests.baseline.promises_text import OF_OTHER_RECORDS


def test_the_page_is_generated() -> None:
    """`python -m scripts.promises_page` writes it; by hand it would not stay true."""
    assert (DOCS / "promises.md").read_text() == promises_page.render()


def test_what_each_cause_permits_of_each_anomaly_has_its_test() -> None:
    """tests/baseline/tests_of_causes.toml names it, where the baseline does not decide it."""
    shown = promises_page.tests()
    assert shown.keys() <= promises_page.pairs().keys()
    assert {(cause, anomaly) for anomaly, cause in OF_OTHER_RECORDS} <= shown.keys()

    for test in (*shown.values(), promises_page.BASELINE):
        file, _, name = test.partition("::")
        assert f"\ndef {name}(" in (ROOT / "tests" / file).read_text(), test
