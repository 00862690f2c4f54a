"""What names a place in a store, and what a folder."""

from __future__ import annotations

import pytest

from harness.model.runs.uris import as_path, is_uri


@pytest.mark.parametrize("name", ["hdfs://host:8020/x", "s3a://bucket/x", "S3A://b", "hdfs:///x"])
def test_a_uri(name: str) -> None:
    assert is_uri(name)
    assert name == as_path(name)


@pytest.mark.parametrize("name", ["results/x", "/x", "study-1", "a:b", "file:///x"])
def test_a_folder(name: str) -> None:
    assert not is_uri(name)


def test_a_file_uri_is_its_path() -> None:
    assert "/srv/a b" == as_path("file:///srv/a%20b")
