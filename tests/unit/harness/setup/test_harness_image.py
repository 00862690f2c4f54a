"""The wheel that the harness's own image is made of."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from harness.cluster.nodes import ClusterError
from harness.setup.harness_image import distribution_in, wheel_of_install

NAME = "kafka_harness-9.9-py3-none-any.whl"


def recorded(url: str) -> str:
    return json.dumps({"url": url, "archive_info": {}})


def test_it_is_the_file_that_the_harness_was_installed_from(tmp_path: Path) -> None:
    wheel = tmp_path / "with a space" / NAME
    wheel.parent.mkdir()
    wheel.touch()

    assert wheel == wheel_of_install(recorded(wheel.as_uri()))


@pytest.mark.parametrize(
    "told",
    [
        None,  # by name, from an index
        recorded(f"file:///gone/{NAME}"),
        recorded("file:///tmp"),  # a checkout
        recorded(f"https://example.org/{NAME}"),
    ],
)
def test_where_there_is_none_the_user_is_asked_for_it(told: str | None) -> None:
    with pytest.raises(ClusterError, match=r"--wheel FILE$"):
        wheel_of_install(told)


def test_a_wheel_says_its_version_and_what_it_needs(tmp_path: Path) -> None:
    assert "9.9" == distribution_in(wheel(tmp_path, "kafka-harness")).version
    assert ["pyspark~=4.3.0"] == distribution_in(wheel(tmp_path, "kafka-harness")).requires


def test_another_s_wheel_and_a_file_that_is_none_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / NAME
    broken.write_text("nonsense")

    for file in (broken, wheel(tmp_path, "rich")):
        with pytest.raises(ClusterError, match="is no wheel of kafka-harness"):
            distribution_in(file)


def wheel(folder: Path, name: str) -> Path:
    told = f"Metadata-Version: 2.4\nName: {name}\nVersion: 9.9\nRequires-Dist: pyspark~=4.3.0\n"
    file = folder / f"{name.replace('-', '_')}-9.9-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as inside:
        inside.writestr(f"{name.replace('-', '_')}-9.9.dist-info/METADATA", told)
    return file
