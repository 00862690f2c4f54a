"""What the host can do is found by doing it; what it cannot comes with a remedy."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from harness.cluster.docker import backend as docker
from harness.distribution import kafka_home
from harness.host import contained, java, system_packages
from harness.host.namespaces import UNSHARE
from harness.setup import doctor, install, resources
from harness.setup import host_finding as findings
from harness.setup.doctor import why_no_namespaces
from harness.setup.host_finding import HostFinding, can_run, render
from tests.support.needs import needs


def finding(
    name: str = "x", status: findings.Status = "ok", needed_for: str = findings.LOCAL
) -> HostFinding:
    return HostFinding(
        name=name, status=status, detail="found", remedy="mend it", needed_for=needed_for
    )


def shown(findings: list[HostFinding]) -> str:
    console = Console(width=120)
    with console.capture() as text:
        console.print(render(findings))
    return text.get()


# --- the verdict


def test_only_what_the_local_backend_misses_stops_it() -> None:
    harmless = [
        finding(status="unavailable"),
        finding(status="warning"),
        finding(status="missing", needed_for=findings.TESTS),
    ]

    assert can_run([finding(), *harmless])
    assert not can_run([*harmless, finding(status="missing")])


def test_a_remedy_is_shown_only_where_something_is_to_be_mended() -> None:
    assert "mend it" in shown([finding(status="missing")])
    assert "mend it" not in shown([finding(status="ok")])


@pytest.mark.jvm
def test_every_finding_about_this_host_is_complete() -> None:
    """The tests run where runs do, so this host has no serious finding."""
    findings = doctor.examine()
    names = [f.name for f in findings]

    assert len(names) == len(set(names))
    assert {
        "Java",
        "private namespaces",
        "iptables rules",
        "tc netem",
        "docker",
        "kubernetes",
    } <= set(names)
    assert all(f.detail for f in findings)
    assert can_run(findings), shown(findings)


@pytest.mark.parametrize(("words", "status"), [(("unshare",), "ok"), ((), "unavailable")])
def test_whether_programs_can_be_ended_whole(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], status: str
) -> None:
    monkeypatch.setattr(contained, "namespace_words", lambda: words)

    finding = doctor.pid_namespaces()

    assert finding.status == status
    assert bool(finding.remedy) is (status != "ok")


def test_a_kubernetes_that_does_not_answer_is_unavailable_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))

    finding = doctor.kubernetes_backend()

    assert ("unavailable", "the kubernetes backend") == (finding.status, finding.needed_for)
    assert "set KUBECONFIG" in finding.detail


# --- namespaces


@pytest.mark.parametrize(
    ("settings", "uid", "box", "reason", "remedy"),
    [
        (
            {"kernel.apparmor_restrict_unprivileged_userns": "1"},
            1000,
            None,
            "AppArmor",
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            {"kernel.unprivileged_userns_clone": "0"},
            1000,
            None,
            "for root",
            "sudo sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        (
            {"user.max_user_namespaces": "0"},
            0,
            None,
            "no user namespaces",
            "sudo sysctl -w user.max_user_namespaces=15000",
        ),
        (
            {"kernel.unprivileged_userns_clone": "0"},
            0,
            "container",
            "container",
            "start the container with `docker run --privileged`",
        ),
        ({}, 0, "chroot", "chroot", "run outside the chroot, or enter it by pivot_root"),
        ({}, 1000, None, "neither", f"find out why this fails: {' '.join(UNSHARE)} true"),
    ],
)
def test_why_namespaces_are_forbidden_and_the_one_command_that_allows_them(
    settings: dict[str, str], uid: int, box: doctor.Box | None, reason: str, remedy: str
) -> None:
    found_reason, found_remedy = why_no_namespaces("unshare: no", settings, uid=uid, box=box)

    assert found_reason.startswith("unshare: no: ")
    assert reason in found_reason
    assert remedy == found_remedy


def test_a_host_that_allows_no_namespaces_is_found_out_by_trying() -> None:
    """Inside one private namespace no further one is allowed: the doctor must see that there."""
    needs("namespaces")
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces"
    asked = [sys.executable, "-m", "harness.setup.doctor", "namespaces"]
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", f'{forbid} && exec "$@"', "sh", *asked],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    assert "this system allows no user namespaces" in done.stdout
    assert "sudo sysctl -w user.max_user_namespaces=15000" in done.stdout


def test_a_probe_that_fails_tells_what_the_kernel_said() -> None:
    needs("namespaces")
    failed = doctor._probe(
        "tc nonsense", "nothing", "tc qdisc add dev lo root nonsense", "unavailable", "a fault"
    )

    assert failed.status == "unavailable"
    assert failed.detail.startswith("nothing: ")
    assert "nonsense" in failed.detail or "unknown" in failed.detail


def test_probes_leave_nothing_behind() -> None:
    links, mounts = Path("/proc/net/dev"), Path("/proc/mounts")
    before = links.read_text().count(":"), mounts.read_text()
    doctor.kernel()

    assert before == (links.read_text().count(":"), mounts.read_text())


# --- what is missing


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands as root is told them, whoever runs the tests."""
    monkeypatch.setattr(os, "getuid", lambda: 0)


@pytest.mark.usefixtures("root")
def test_missing_programs_come_with_this_platforms_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages, "program", lambda _name: None)
    monkeypatch.setattr(system_packages, "package_manager", lambda: "dnf")
    found = {f.name: f for f in doctor.programs()}

    assert found["iptables"].status == "missing"
    assert found["ip"].remedy == "dnf install -y iproute"


def test_no_java_and_no_kafka_are_findings_not_errors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(java, "_java_programs", list)
    monkeypatch.setenv("KAFKA_HARNESS_CACHE", str(tmp_path))
    runtime, kafka = doctor.java(), doctor.kafka()[0]

    assert ("missing", "missing") == (runtime.status, kafka.status)
    assert kafka.remedy == "kafka-harness setup"


def test_a_changed_jar_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = kafka_home.KafkaHome(libs=tmp_path / "libs", version="3.9.2", archives=tmp_path)
    home.libs.mkdir()
    (home.libs / "a.jar").write_text("changed")
    (tmp_path / "bill.json").write_text(
        json.dumps({"jars": {"a.jar": {"sha256": "0", "bytes": 7}}})
    )
    monkeypatch.setattr(kafka_home, "find_kafka", lambda _home=None: home)

    assert "a.jar changed since they were fetched" in doctor.kafka()[0].detail


def test_too_little_room_is_a_warning() -> None:
    found = resources._enough("cores", 1, 2, "", "reasons")

    assert ("warning", "provide at least 2") == (found.status, found.remedy)


# --- system packages


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("dnf", "dnf install -y java-21-openjdk-headless iptables-nft iproute util-linux"),
        (
            "zypper",
            "zypper --non-interactive install java-17-openjdk-headless iptables iproute2 "
            "util-linux",
        ),
        (
            "pacman",
            "pacman -S --needed --noconfirm jre17-openjdk-headless iptables iproute2 util-linux",
        ),
        ("apk", "apk add openjdk17-jre-headless iptables iproute2 util-linux-misc setpriv"),
    ],
)
@pytest.mark.usefixtures("root")
def test_each_platform_has_its_command(manager: str, command: str) -> None:
    needs = ["java", "iptables", "iproute2", "util-linux"]

    assert command == system_packages.install_command(needs, manager)


@pytest.mark.usefixtures("root")
def test_apt_gets_the_java_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian 12 has Java 17, Debian 13 Java 21."""
    monkeypatch.setattr(system_packages, "_known", lambda _manager, name: "21" in name)
    command = system_packages.install_command(["java"], "apt-get")

    assert command == "apt-get install -y --no-install-recommends openjdk-21-jre-headless"


def test_an_administrators_folders_are_searched_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Debian's ordinary users do not have them in their PATH, and iptables is there."""
    (tmp_path / "iptables").touch(mode=0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "/usr/sbin" in system_packages.search_path().split(":")
    monkeypatch.setattr(system_packages, "SYSTEM_FOLDERS", (str(tmp_path),))

    assert system_packages.search_path().split(":")[0] == "/nowhere"
    assert system_packages.program("iptables") == tmp_path / "iptables"


def test_set_up_without_the_right_to_install_prints_the_command_and_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(system_packages, "package_manager", lambda: "dnf")
    monkeypatch.setattr(os, "getuid", lambda: 1000)

    with pytest.raises(install.SetUpError, match=r"missing: iptables.*\s+sudo dnf install -y"):
        install._install(["iptables"])


def test_another_pyproject_makes_set_up_ask_pip_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, stamp, python = (tmp_path / n for n in ("pyproject.toml", "stamp", "python"))
    project.write_text("[project]")
    python.touch()
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "PYTHON", python)
    stamp.write_text(install._wanted())

    assert install._is_stamped(stamp)
    project.write_text("[project]\ndependencies = []")
    assert not install._is_stamped(stamp)


def test_what_docker_lacks_is_said_with_the_remedy(monkeypatch):
    monkeypatch.setattr(docker, "find_spec", lambda _: None)
    found = doctor.docker_backend()

    assert (found.status, found.needed_for) == ("unavailable", "the docker backend")
    pip_install = [sys.executable, "-m", "pip", "install", "docker~=7.1"]
    assert shlex.join(pip_install) in found.detail


def test_an_engine_that_does_not_answer_is_said(monkeypatch):
    if docker.without_sdk():
        pytest.skip("the Docker SDK is not installed")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")

    assert "no Docker engine answers" in doctor.docker_backend().detail
