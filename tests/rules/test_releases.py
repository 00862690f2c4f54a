"""The release has one number: CHANGELOG.md's newest."""

from __future__ import annotations

import re

import pytest

from harness import release
from harness.checkout import ROOT

HEADING = re.compile(r"^## \[(.+)\](?: - (\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)


def test_the_version_is_the_newest_release_of_the_changelog() -> None:
    (unreleased, no_date), (newest, date), *_ = HEADING.findall((ROOT / "CHANGELOG.md").read_text())

    assert ("Unreleased", "") == (unreleased, no_date)
    assert release.version() == newest
    assert date


@pytest.mark.parametrize("page", ["k8s/nightly.yaml", "docs/clusters.md"])
def test_images_are_named_after_it(page: str) -> None:
    named = re.findall(r"kafka-harness/harness:([\w.]+)", (ROOT / page).read_text())

    assert {release.version()} == {*named}
