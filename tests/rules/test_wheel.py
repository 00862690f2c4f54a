"""A wheel has all that an installed harness finds by a path, and knows its commit."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness import release
from harness.checkout import ROOT

NIGHTLY = release.PAGES / "nightly.toml"
SHIPPED = (
    *(release.COMPOSE_FILE, release.KRAFT_COMPOSE_FILE),
    *(release.IMAGES, release.MANIFESTS, NIGHTLY),
)
TOLD = """
from harness import release
from harness.cluster.docker import images
from harness.cluster.kubernetes.location import manifests_of
from harness.model.scenario import ClusterPart, Scenario, WorkloadPart
from harness.scenario.file import shipped
print(release.described())
print(images.of_nodes(ClusterPart(), "")["kafka"])
print(manifests_of(Scenario(title="any", workload=WorkloadPart(kind="stream"))).is_dir())
print(len(shipped()) > 50)
"""


def built(target: str, source: Path, folder: Path) -> Path:
    build = [sys.executable, "-P", "-m", "hatchling", "build", "--target", target]
    subprocess.run([*build, "--directory", str(folder)], check=True, cwd=source)
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_every_file_that_is_found_by_a_path_is_in_the_wheel(wheel: Path) -> None:
    files = [file for top in SHIPPED for file in (top, *top.rglob("*")) if file.is_file()]

    with zipfile.ZipFile(wheel) as inside:
        for file in files:
            shipped = inside.read(f"harness/shipped/{file.relative_to(ROOT)}")
            assert file.read_bytes() == shipped


def test_an_installed_harness_finds_its_files_without_the_checkout(
    wheel: Path, tmp_path: Path
) -> None:
    installed, elsewhere = tmp_path / "of a user", tmp_path / "elsewhere"
    elsewhere.mkdir()
    with zipfile.ZipFile(wheel) as inside:
        inside.extractall(installed)

    program = f"import sys; sys.path.insert(0, {str(installed)!r}){TOLD}"
    told = subprocess.check_output([sys.executable, "-c", program], cwd=elsewhere, text=True)

    described, *found = told.splitlines()
    assert described == (
        f"kafka-harness {release.version()}, commit {release.commit()}, "
        f"files in {installed}/harness/shipped"
    )
    assert ["confluentinc/cp-kafka:7.9.4", "True", "True"] == found


def test_a_wheel_made_of_the_archived_sources_knows_the_commit(tmp_path: Path) -> None:
    shutil.unpack_archive(built("sdist", ROOT, tmp_path / "sdist"), tmp_path)
    unpacked = next(tmp_path.glob("kafka_harness-*"))

    with zipfile.ZipFile(built("wheel", unpacked, tmp_path / "wheel")) as inside:
        assert release.commit() == inside.read("harness/commit.txt").decode().strip()
        assert "harness/shipped/docker-compose.yml" in inside.namelist()
