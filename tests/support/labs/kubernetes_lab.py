"""A Kubernetes to test against: the one that is given, or a small real one on this machine.

    given     $KUBECONFIG, with overlays of k8s/base and k8s/kraft whose images it has in
              $KAFKA_HARNESS_MANIFESTS and $KAFKA_HARNESS_KRAFT_MANIFESTS
    the lab   one node in namespaces of its own, from $KUBERNETES_LAB or ../shared/labs/kubernetes;
              for root only. `PYTHONPATH=. python3 tests/support/labs/kubernetes_lab.py` builds it,
              minutes once, and whoever needs it meanwhile waits. Its pods borrow this machine's
              Java, Python and iptables by hostPath, so that no image is built; their data live in
              its /run.

Standard library only: a build may begin before anything is installed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.checkout import ROOT
from harness.distribution import kafka_home
from harness.setup.install import apt_install

LAB = Path(os.environ.get("KUBERNETES_LAB") or ROOT.parent / "shared" / "labs" / "kubernetes")
HOME = Path(os.environ.get("LAB_HOME") or Path.home() / ".cache" / "kubernetes-lab")
UP_LIMIT_S, BUILD_LIMIT_S = 180, 3000
LABS = 16  # as many can run side by side
# What the lab installs, too; here it is done under set-up's lock, and no service is started.
PACKAGES = [
    "containerd",
    "runc",
    "containernetworking-plugins",
    "iptables",
    "conntrack",
    "iproute2",
    "socat",
    "openssl",
    "busybox-static",
    "util-linux",
    "bc",
]

# Class archives by StatefulSet, by the folder of k8s that has these.
Archives = Mapping[str, Mapping[str, Path]]
# The image is an empty skeleton: what a node needs comes from the machine, read-only.
BORROWED = {
    "usr": "/usr",
    "alternatives": "/etc/alternatives",
    "java-conf": f"/etc/{Path('/usr/bin/java').resolve().parents[1].name.replace('-amd64', '')}",
}


@dataclass(frozen=True, kw_only=True)
class Kubernetes:
    """How a command is told of a cluster: what its environment needs to have."""

    environment: dict[str, str]
    manifests: Path
    kraft: Path  # the same for a cluster without ZooKeepers
    number: int | None = None  # the lab's; other clusters' pods cannot borrow from this machine

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        """What kubectl says; its complaint is the assertion's."""
        done = subprocess.run(
            ["kubectl", *arguments],
            env={**os.environ, **self.environment},
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def missing() -> str | None:
    """Why there is no Kubernetes to be had here."""
    if os.environ.get("KUBECONFIG"):
        return None if shutil.which("kubectl") else "KUBECONFIG is set, and there is no kubectl"
    if os.geteuid() != 0:
        return "no KUBECONFIG is set, and building the lab needs root"
    if not LAB.is_dir():
        return "no KUBECONFIG is set, and there is no lab (KUBERNETES_LAB)"
    return None if shutil.which("go") else "no KUBECONFIG is set, and building the lab needs go"


@contextmanager
def kubernetes(folder: Path, libs: Path, archives: Archives) -> Iterator[Kubernetes]:
    """A cluster for as long as the block lasts; `archives` are by the folder of k8s."""
    if os.environ.get("KUBECONFIG"):
        named, kraft = (
            Path(os.environ.get(f"KAFKA_HARNESS_{word}MANIFESTS") or ROOT / "k8s" / own)
            for word, own in (("", "minikube"), ("KRAFT_", "minikube-kraft"))
        )
        yield Kubernetes(environment={}, manifests=named, kraft=kraft)
        return
    build()
    with free_lab() as number:
        _lab("down.sh", number)  # of one whose tests were killed
        try:
            said = _lab("up.sh", number).strip().splitlines()
            path = f"{HOME / 'bin'}:{os.environ['PATH']}"
            for base, of_nodes in archives.items():
                write_overlay(folder, base, libs, of_nodes)
            yield Kubernetes(
                environment={"KUBECONFIG": said[-1], "PATH": path},
                manifests=folder / "base",
                kraft=folder / "kraft",
                number=number,
            )
        finally:
            _lab("down.sh", number)


def build() -> None:
    """Build the lab unless it is built; waits for whoever does."""
    with kafka_home.locked(HOME / "build.lock"):
        with kafka_home.locked(kafka_home.cache_folder() / "set-up.lock"):
            install()
        _lab("build.sh", 0, BUILD_LIMIT_S)


def install() -> None:
    """Install the packages that are missing."""
    asked = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *PACKAGES]
    there = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.splitlines()
    if missing := [name for name in PACKAGES if f"{name} installed" not in there]:
        apt_install(missing)


@contextmanager
def free_lab() -> Iterator[int]:
    """The number of a lab that nobody else runs meanwhile."""
    for number in range(LABS):
        with (HOME / f"c{number}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return
    raise AssertionError(f"{LABS} labs are running")


def _lab(script: str, number: int, limit_s: float = UP_LIMIT_S) -> str:
    """Run one of the lab's scripts for the lab of this number and return what it printed."""
    file = HOME / f"{script}-{number}.log"
    with file.open("w") as log:
        done = subprocess.run(
            [str(LAB / script)],
            stdout=subprocess.PIPE,
            stderr=log,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=limit_s,
            check=False,
            env={**os.environ, "LAB_HOME": str(HOME), "LAB_ID": str(number)},
        )
    assert done.returncode == 0, file.read_text()[-2000:]
    return done.stdout


def stand_back() -> None:
    """Let everything else on this machine go first (sched(7), autogroup)."""
    os.setsid()
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text("19")
    os.nice(19)


def write_overlay(folder: Path, base: str, libs: Path, archives: Mapping[str, Path]) -> None:
    """An overlay of a folder of k8s for the lab, in one of the same name: the machine's own
    programs, data in its /run."""
    patches = "".join(
        f"  - target: {{kind: StatefulSet, name: {name}}}\n    patch: |\n"
        + "".join(f"      {line}\n" for line in _patch(libs, archive).splitlines())
        for name, archive in archives.items()
    )
    overlay = folder.resolve() / base
    overlay.mkdir(parents=True, exist_ok=True)
    (overlay / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        f"resources: [{os.path.relpath(ROOT / 'k8s' / base, overlay)}]\n"
        "images: [{name: kafka-harness/kafka, newName: localhost/hostroot, newTag: '1'}]\n"
        f"patches:\n{patches}"
    )


def _patch(libs: Path, archive: Path) -> str:
    borrowed = {**BORROWED, "libs": str(libs), "archives": str(archive.parent)}
    mounts = "".join(
        f"            - {{name: {name}, mountPath: {path}, readOnly: true}}\n"
        for name, path in borrowed.items()
    )
    volumes = "".join(
        f"        - {{name: {name}, hostPath: {{path: {path}}}}}\n"
        for name, path in borrowed.items()
    )
    # Of each run its own, in a namespace that stays, too: its label is in the pods' template, of
    # which this is the hash. Every pod of a StatefulSet has one.
    label = "metadata.labels['controller-revision-hash']"
    data = "$(POD_NAMESPACE)/$(RUN)/$(POD_NAME)"
    return f"""apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: any}}
spec:
  template:
    spec:
      containers:
        - name: node
          env:
            - {{name: POD_NAMESPACE, valueFrom: {{fieldRef: {{fieldPath: metadata.namespace}}}}}}
            - {{name: RUN, valueFrom: {{fieldRef: {{fieldPath: "{label}"}}}}}}
            - {{name: KAFKA_LIBS, value: {libs}}}
            - {{name: KAFKA_ARCHIVE, value: {archive}}}
          volumeMounts:
{mounts}            - {{name: data, mountPath: /data, subPathExpr: {data}}}
        - name: holder
          volumeMounts:
{mounts}      volumes:
        - name: data
          emptyDir: null
          hostPath: {{path: /run/kafka-harness, type: DirectoryOrCreate}}
{volumes}"""


if __name__ == "__main__":
    if why := missing():
        sys.stderr.write(f"the lab is not built: {why}\n")
    elif not os.environ.get("KUBECONFIG"):
        stand_back()
        build()
