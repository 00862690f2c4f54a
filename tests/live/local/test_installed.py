"""The harness as a wheel in an ordinary user's venv: no checkout, no root, nothing borrowed.

The wheel is made here, and what it needs is copied from where set-up has installed it: no index is
asked. The venv, the cache and every folder are the user's, below a path with a space.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pip
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness import release
from harness.checkout import ROOT
from harness.distribution.kafka_home import cache_folder
from tests.support.commands import TWO_NODES, newest_run
from tests.support.host_pace import bound_s
from tests.support.ordinary_user import AS_USER, USER_ID, python_of_user

pytestmark = pytest.mark.cluster

SMALL = ("run", "baseline", *TWO_NODES, "--set", "workload.rounds=50")
WHEEL = [sys.executable, "-P", "-m", "pip", "wheel", "--quiet", "--no-input"]
WHEEL += ["--disable-pip-version-check", "--no-build-isolation"]
OWN = "raise SystemExit('a package of the user, not of the harness')\n"
SCRIPT = """
import os, socket
import beside
host, port = os.environ["KAFKA"].split(",")[0].split(":")
socket.create_connection((host, int(port)), 5).close()
print(beside.SAID, os.environ.get("PYTHONSAFEPATH"))
"""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """A venv that has the harness from a wheel, and its user's folders."""

    place: Path

    @property
    def python(self) -> Path:
        return self.place / "venv" / "bin" / "python"

    def folder(self, name: str, files: Mapping[str, str] = {}) -> Path:
        """A folder of the user's."""
        made = self.place / name
        for file, text in files.items():
            (made / file).parent.mkdir(parents=True, exist_ok=True)
            (made / file).write_text(text)
        made.mkdir(exist_ok=True)
        give(made)
        return made

    def run(self, *words: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
        """A command of the user's, with `more` in its environment."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        own = {"HOME": str(self.place), "KAFKA_HARNESS_CACHE": str(self.place / "cache")}
        return subprocess.run(
            [*AS_USER, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=bound_s(300),
            cwd=cwd,
            env={**kept, **own, **more},
            stdin=subprocess.DEVNULL,
        )

    def harness(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """`kafka-harness …`, which has to succeed."""
        done = self.run(str(self.python.with_name("kafka-harness")), *words, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr
        return done


def give(folder: Path) -> None:
    """Everything in it to the user."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER_ID, -1, follow_symlinks=False)


@pytest.fixture(scope="module")
def installed() -> Iterator[Installation]:
    python = python_of_user()
    above = Path(tempfile.mkdtemp(prefix="kafka-harness-test-"))
    try:
        above.chmod(0o755)
        place = above / "a user's own"
        place.mkdir()
        wheel = made_wheel(place / "wheels")
        # What only fetching would bring: Kafka's jars. Archives are the user's to make.
        unneeded = shutil.ignore_patterns(".*", "class-archives", "docker", "image")
        shutil.copytree(cache_folder(), place / "cache", ignore=unneeded)
        shutil.copytree(Path(pip.__file__).parent, place / "installer" / "pip")
        give(place)
        user = Installation(place=place)
        # Debian's Python has no ensurepip; pip runs from wherever it lies.
        made = user.run(python, "-m", "venv", "--without-pip", str(place / "venv"), cwd=place)
        assert made.returncode == 0, made.stdout + made.stderr
        copy_what_it_needs(wheel, next((place / "venv").glob("lib/python*/site-packages")))
        give(place / "venv")
        # Its pip refuses a wheel that needs what is not there, or another version.
        install = [str(user.python), "-m", "pip", "install", "--quiet", "--no-index"]
        install += ["--no-compile", "--disable-pip-version-check"]
        done = user.run(*install, str(wheel), cwd=place, PYTHONPATH=str(place / "installer"))
        assert done.returncode == 0, done.stdout + done.stderr
        yield user
    finally:
        shutil.rmtree(above)


def made_wheel(folder: Path) -> Path:
    """The harness's wheel, made of this checkout."""
    subprocess.run([*WHEEL, "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
    return next(folder.glob("*.whl"))


def copy_what_it_needs(wheel: Path, packages: Path) -> None:
    """Every file that set-up has installed into site-packages of what the wheel asks for."""
    (described,) = metadata.distributions(path=[str(wheel)])
    for name in asked_for(described) - {canonicalize_name(described.name)}:
        found = metadata.distribution(name)
        for file in found.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                to = packages / file
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(found.locate_file(file)), to)


def asked_for(one: metadata.Distribution, extras: Set[str] = frozenset()) -> set[str]:
    """The names of a distribution and of all that it needs with these extras, directly or not."""
    found: set[str] = {canonicalize_name(one.name)}
    for each in map(Requirement, one.requires or ()):
        if each.marker is None or any(each.marker.evaluate({"extra": e}) for e in ("", *extras)):
            found |= asked_for(metadata.distribution(each.name), each.extras)
    return found


def test_set_up_brings_what_is_missing_and_a_second_one_nothing(installed: Installation) -> None:
    nowhere = installed.folder("nothing here")

    first = installed.harness("setup", cwd=nowhere)
    second = installed.harness("setup", cwd=nowhere)

    assert "making the class archives that let nodes start faster" in first.stdout
    assert "making the class archive that lets checks start faster" in first.stdout
    assert "ready: `kafka-harness doctor` says what this host can do\n" == second.stdout
    assert [] == [*nowhere.iterdir()]


@pytest.fixture(scope="module")
def project(installed: Installation) -> Path:
    """A folder of the user's that has packages by our names."""
    names = ("harness", "workloads", "analysis")
    own = {f"{name}/__init__.py": OWN for name in names}
    script = {"tools/script.py": SCRIPT, "tools/beside.py": "SAID = 'found beside the script'\n"}
    return installed.folder("a project", {**own, **script})


def test_a_run_and_its_check_know_their_release_and_commit(
    installed: Installation, project: Path
) -> None:
    installed.harness(*SMALL, cwd=project)

    run = newest_run(project / "results")
    versions = json.loads((run / "run.json").read_text())["versions"]
    assert release.version() == versions["kafka_harness"]
    assert release.commit().split()[0] == versions["kafka_harness_commit"].split()[0]
    assert "valid" == json.loads((run / "report.json").read_text())["verdict"]


def test_packages_of_the_user_s_own_are_left_to_the_user(
    installed: Installation, project: Path
) -> None:
    python = str(installed.python)
    up = installed.harness(
        "up", "baseline", *TWO_NODES, "--", python, "tools/script.py", cwd=project
    )

    assert "found beside the script None" in up.stdout


def test_manifests_recipes_and_pages_come_with_it(installed: Installation) -> None:
    nowhere = installed.folder("nothing here either")
    told = "from harness import release as r; print(r.FILES, r.COMPOSE_FILE.is_file(), "
    told += "(r.MANIFESTS / 'minikube').is_dir(), (r.IMAGES / 'kafka').is_dir())"

    files = installed.run(str(installed.python), "-c", told, cwd=nowhere).stdout.strip()
    version = installed.harness("--version", cwd=nowhere).stdout
    pages = installed.harness("docs", cwd=nowhere).stdout

    assert files.startswith(str(installed.place / "venv"))
    assert files.endswith("True True True")
    assert f"as files: {files.removesuffix(' True True True')}" in pages
    assert "tutorial" in pages
    assert f"kafka-harness {release.version()}, commit {release.commit().split()[0]}" in version
