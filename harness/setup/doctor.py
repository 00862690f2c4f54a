"""Finds out what this host can and cannot do by trying it, with the remedy for what it cannot.

It does once whatever a run would do to the kernel, in private namespaces that vanish with the
probe: it concludes nothing from version numbers, and leaves nothing behind. Too few cores, memory
or disk only make runs slow, or end them.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from harness.cluster.docker import backend as docker
from harness.cluster.docker import compose, engine
from harness.cluster.kubernetes import location, manifests
from harness.cluster.nodes import ClusterError
from harness.distribution import kafka_home
from harness.host import contained, system_packages
from harness.host.java import find_java
from harness.host.machine import HostError
from harness.host.namespaces import UNSHARE
from harness.model.sections.kafka_releases import default_metadata
from harness.setup.host_finding import FASTER, FAULTS, LOCAL, TESTS, HostFinding, Status
from harness.setup.resources import resources

PROBE_TIMEOUT_S = 20
SET_UP = "kafka-harness setup"


def examine(user_home: Path | None = None) -> list[HostFinding]:
    """All findings, in the order in which a user should fix them. `user_home`: as in
    --kafka-home."""
    return [
        *programs(),
        java(),
        namespaces(),
        pid_namespaces(),
        *kernel(),
        *kafka(user_home),
        *resources(),
        browser(),
        docker_backend(),
        kubernetes_backend(),
    ]


def pid_namespaces() -> HostFinding:
    """Whether a program of the user's can be ended with all that it has started."""
    able = bool(contained.namespace_words())
    what = "what the user's programs start apart from them"
    return HostFinding(
        name="pid namespaces",
        status="ok" if able else "unavailable",
        detail=f"end {what}" if able else f"cannot be had: {what} may outlive a run",
        remedy="" if able else "allow user namespaces, or run as root",
        needed_for="[[programs]] beside clusters in containers, pods and elsewhere",
    )


def programs() -> list[HostFinding]:
    """The system's programs that a run starts."""
    return [_program(name, need) for name, need in system_packages.PROGRAMS.items()]


def _program(name: str, need: str) -> HostFinding:
    path = system_packages.program(name)
    if path:
        return HostFinding(name=name, status="ok", detail=str(path))
    remedy = system_packages.install_command([need])
    return HostFinding(name=name, status="missing", detail="not installed", remedy=remedy)


def java() -> HostFinding:
    """A Java that Kafka 3.9 and PySpark run on."""
    try:
        runtime = find_java()
    except HostError as error:
        remedy = system_packages.install_command(["java"])
        return HostFinding(name="Java", status="missing", detail=str(error), remedy=remedy)
    return HostFinding(name="Java", status="ok", detail=f"{runtime.version}, {runtime.path}")


def browser() -> HostFinding:
    """A Chromium with its driver, in which the tests open the report."""
    programs_ = [
        next(filter(None, map(system_packages.program, names)), None)
        for names in (system_packages.BROWSERS, system_packages.BROWSER_DRIVERS)
    ]
    if all(programs_):
        detail = ", ".join(map(str, programs_))
        return HostFinding(name="Chromium", status="ok", detail=detail, needed_for=TESTS)
    remedy = system_packages.install_command(["browser", "browser-driver"])
    return HostFinding(
        name="Chromium",
        status="missing",
        detail="not installed, or without its driver",
        remedy=remedy,
        needed_for=TESTS,
    )


def docker_backend() -> HostFinding:
    """The Docker engine and compose, called as a run calls them."""

    def ask() -> str:
        version, words = engine.Engine(engine.connect(), "").version, compose.command()
        return f"engine {version}, `{' '.join(words)}`"

    return _backend("docker", docker.without_sdk(), ask)


def kubernetes_backend() -> HostFinding:
    """The API server of the kubeconfig's current context and kustomize, called as a run calls
    them."""

    def ask() -> str:
        from harness.cluster.kubernetes.api import Api, configuration  # noqa: PLC0415

        version, words = Api(configuration(""), "").version(), manifests.kustomize()
        return f"API server {version}, `{' '.join(words)}`"

    return _backend("kubernetes", location.without_client(), ask)


def _backend(name: str, lacks: str | None, ask: Callable[[], str]) -> HostFinding:
    status: Status
    try:
        status, detail = ("unavailable", lacks) if lacks else ("ok", ask())
    except ClusterError as error:
        status, detail = "unavailable", str(error).splitlines()[0]
    return HostFinding(name=name, status=status, detail=detail, needed_for=f"the {name} backend")


def namespaces() -> HostFinding:
    """The private namespaces of a run, made by the command line that a run uses."""
    try:
        made = _inside("test $$ = 1 && test -d /proc/1 && test $(id -u) = 0")
    except OSError as error:
        return HostFinding(
            name="private namespaces",
            status="missing",
            detail=f"{error.filename} is not installed",
            remedy=system_packages.install_command(["util-linux"]),
        )
    if made.returncode == 0:
        return HostFinding(
            name="private namespaces", status="ok", detail="user, network, mount, pid"
        )
    complaint = (made.stdout.strip() or f"exit {made.returncode}").splitlines()[-1]
    box: Box | None = "container" if _in_container() else "chroot" if _in_chroot() else None
    detail, remedy = why_no_namespaces(complaint, _settings(), uid=os.getuid(), box=box)
    return HostFinding(name="private namespaces", status="missing", detail=detail, remedy=remedy)


Box = Literal["container", "chroot"]


def why_no_namespaces(
    complaint: str,
    settings: Mapping[str, str],
    *,
    uid: int,
    box: Box | None,
) -> tuple[str, str]:
    """(reason, the one command that allows them), from unshare's complaint and kernel settings.

    Sources: user_namespaces(7) on max_user_namespaces and chroot(2); Debian's and Ubuntu's own
    settings kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns.
    """
    if settings.get("user.max_user_namespaces") == "0":
        reason = "this system allows no user namespaces"
        remedy = "sudo sysctl -w user.max_user_namespaces=15000"
    elif uid != 0 and settings.get("kernel.unprivileged_userns_clone") == "0":
        reason = "this kernel allows user namespaces for root only"
        remedy = "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    elif uid != 0 and settings.get("kernel.apparmor_restrict_unprivileged_userns") == "1":
        reason = "AppArmor restricts unprivileged user namespaces here, as Ubuntu 24.04 does"
        remedy = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    elif box == "container":
        reason = "this container is not allowed to create namespaces"
        remedy = "start the container with `docker run --privileged`"
    elif box == "chroot":
        reason = "the kernel allows no user namespaces in a chroot"
        remedy = "run outside the chroot, or enter it by pivot_root"
    else:
        reason = "neither kernel settings nor a container explain it"
        remedy = f"find out why this fails: {' '.join(UNSHARE)} true"
    return f"{complaint}: {reason}", remedy


# Commands of the probes, which are root and alone in private namespaces.
_NETWORK = (
    "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip netns add n "
    "&& ip link add br0 type bridge "
    "&& ip link add veth0 type veth peer name eth0 netns n && ip link set veth0 master br0 up "
    "&& ip -n n link set eth0 up && nsenter --net=/run/netns/n ip link show eth0"
)
_RULE = "iptables -w -N X && iptables -w -A X -s 10.77.0.1 {0} && iptables -w -S X"
_PROBES: dict[str, tuple[str, str, Status, str]] = {
    # name: (what for, command, status if it fails, needed for)
    "bridge, veth, nsenter": ("a network namespace for each node", _NETWORK, "missing", LOCAL),
    "iptables rules": ("cut links", _RULE.format("-j DROP"), "missing", LOCAL),
    "iptables REJECT": (
        "links cut by TCP resets",
        _RULE.format("-p tcp -j REJECT --reject-with tcp-reset"),
        "unavailable",
        FAULTS,
    ),
    "iptables statistic": (
        "random packet loss",
        _RULE.format("-m statistic --mode nth --every 2 --packet 0 -j DROP"),
        "unavailable",
        FAULTS,
    ),
    "iptables NFQUEUE": (
        "delay without netem",
        "iptables -w -t mangle -A INPUT -s 10.77.0.1 -j NFQUEUE --queue-num 1 --queue-bypass",
        "unavailable",
        FAULTS,
    ),
    "tc netem": (
        "packets reordered, duplicated, corrupted",
        "tc qdisc add dev lo root netem delay 10ms",
        "unavailable",
        FAULTS,
    ),
    "tc tbf": (
        "bandwidth",
        "tc qdisc add dev lo root tbf rate 1mbit burst 32kbit latency 400ms",
        "unavailable",
        FAULTS,
    ),
    "strace": (
        "system calls traced, delayed, failed",
        "strace -f --seccomp-bpf -qq -o /dev/null -e trace=fsync true",
        "unavailable",
        FAULTS,
    ),
    "libfaketime": (
        "a separate clock for each node",
        "for f in /usr/lib/*/faketime/libfaketimeMT.so.1 /usr/lib*/faketime/libfaketimeMT.so.1 "
        "/usr/lib*/libfaketimeMT.so.1; do "
        'test -e "$f" && test "$(LD_PRELOAD=$f FAKETIME="@2001-01-01 00:00:00" date +%Y)" = 2001 '
        "&& exit 0; done; echo libfaketime is not installed; exit 1",
        "unavailable",
        FAULTS,
    ),
    "mounts in a node's namespace": (
        "a separate disk for each node, read-only or full",
        "mount -t tmpfs -o size=1m tmpfs /mnt && mount --bind /mnt /mnt "
        "&& mount -o remount,bind,ro /mnt && ! touch /mnt/x 2>/dev/null",
        "unavailable",
        FAULTS,
    ),
}
_REMEDIES = {"strace": "strace", "libfaketime": "libfaketime"}


def kernel() -> list[HostFinding]:
    """What a run, or a fault, does inside the namespaces; one private probe each."""
    return [_probe(name, *probe) for name, probe in _PROBES.items()]


def _probe(
    name: str, purpose: str, command: str, otherwise: Status, needed_for: str
) -> HostFinding:
    try:
        done = _inside(command)
    except (OSError, subprocess.TimeoutExpired) as error:
        done = subprocess.CompletedProcess([], 1, stdout=str(error))
    if done.returncode == 0:
        return HostFinding(name=name, status="ok", detail=purpose, needed_for=needed_for)
    complaint = next((line for line in done.stdout.splitlines() if line.strip()), "failed")
    remedy = system_packages.install_command([_REMEDIES[name]]) if name in _REMEDIES else ""
    return HostFinding(
        name=name,
        status=otherwise,
        detail=f"{purpose}: {complaint.strip()}",
        remedy=remedy,
        needed_for=needed_for,
    )


def _inside(command: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command as root of private namespaces; its output and errors together."""
    return subprocess.run(
        [*UNSHARE, "sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PROBE_TIMEOUT_S,
        env={**os.environ, "PATH": system_packages.search_path()},
        check=False,
    )


def _settings() -> dict[str, str]:
    """The kernel's settings that can forbid user namespaces, those that this kernel has."""
    names = (
        "user.max_user_namespaces",
        "kernel.unprivileged_userns_clone",
        "kernel.apparmor_restrict_unprivileged_userns",
    )
    files = {name: Path("/proc/sys") / name.replace(".", "/") for name in names}
    return {name: file.read_text().strip() for name, file in files.items() if file.exists()}


def _in_container() -> bool:
    marks = ("/.dockerenv", "/run/.containerenv")
    return "container" in os.environ or any(Path(mark).exists() for mark in marks)


def _in_chroot() -> bool:
    try:
        return not Path("/").samefile("/proc/1/root")
    except OSError:  # only root may look
        return False


def kafka(user_home: Path | None = None) -> list[HostFinding]:
    """Kafka's jars, whole and unchanged, and the archives that make its nodes start faster."""
    try:
        home = kafka_home.find_kafka(user_home)
    except HostError as error:
        return [HostFinding(name="Kafka", status="missing", detail=str(error), remedy=SET_UP)]
    if changed := kafka_home.damaged(home):
        detail = f"{home.libs}: {', '.join(changed)} changed since they were fetched"
        remedy = f"rm -r {shlex.quote(str(home.libs.parent))}; {SET_UP}"
        return [HostFinding(name="Kafka", status="missing", detail=detail, remedy=remedy)]
    ensemble = f", ZooKeeper {home.zookeeper_version}" if home.zookeeper_version else ""
    detail = f"{home.version}{ensemble}, {home.libs}"
    return [HostFinding(name="Kafka", status="ok", detail=detail), *_archives(home)]


def _archives(home: kafka_home.KafkaHome) -> list[HostFinding]:
    try:
        runtime = find_java()
    except HostError:
        return []  # reported already
    roles = kafka_home.roles_in(default_metadata(home.version))
    if all(kafka_home.archive_fits(home, runtime, role) for role in roles):
        detail = str(home.archives)
        return [HostFinding(name="class archives", status="ok", detail=detail, needed_for=FASTER)]
    return [
        HostFinding(
            name="class archives",
            status="warning",
            needed_for=FASTER,
            remedy=f"rm -rf {shlex.quote(str(home.archives))}; {SET_UP}",
            detail="none for these jars and this Java: nodes start more slowly",
        )
    ]


ASPECTS: dict[str, Callable[[], HostFinding]] = {"namespaces": namespaces, "java": java}


def main(argv: Sequence[str]) -> int:
    """Answer set-up's question about one aspect: reason and remedy, or exit 0 if all is well."""
    finding = ASPECTS[argv[0]]()
    if finding.status == "ok":
        return 0
    sys.stdout.write(f"{finding.detail}. Remedy:\n\n    {finding.remedy}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
