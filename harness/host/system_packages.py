"""Says which system programs a run needs, and how to install them on this platform.

A run needs a Java, iptables, iproute2 and util-linux; some faults need strace or libfaketime, and
some tests these, a browser or a Docker engine. Set-up uses this module before there is a virtual
environment, so it uses the standard library only.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from harness.host.java import find_java
from harness.host.machine import HostError

# Debian keeps these out of an ordinary user's PATH, and iptables is there.
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")

# Program -> the need that it belongs to. Any program of a need's group will do for BROWSERS.
PROGRAMS = {
    "iptables": "iptables",
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "chmod": "coreutils",  # Spark calls it
}
# Only some faults need these.
FAULT_PROGRAMS = {"strace": "strace"}
# For a Docker engine of the tests' own (scripts/private-dockerd), which only root may start.
ENGINE_PROGRAMS = {"dockerd": "docker-engine"}
IMAGE_PROGRAMS = {"mmdebstrap": "mmdebstrap"}  # for the image in any engine
FAKETIME = ("lib/*/faketime", "lib*/faketime", "lib*")  # folders below /usr, by distribution
DOCKER_SOCKET = "/var/run/docker.sock"  # where clients look if DOCKER_HOST is unset
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER_DRIVERS = ("chromedriver", "chromium-driver", "chromium.chromedriver")

# Package manager -> how to install, and need -> packages, of which the first known one is taken.
_INSTALL = {
    "apt-get": "apt-get install -y --no-install-recommends",
    "dnf": "dnf install -y",
    "zypper": "zypper --non-interactive install",
    "pacman": "pacman -S --needed --noconfirm",
    "apk": "apk add",
}
_PACKAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "apt-get": {
        "java": ("openjdk-17-jre-headless", "openjdk-21-jre-headless"),
        "browser": ("chromium", "chromium-browser"),
        "browser-driver": ("chromium-driver", "chromium-chromedriver"),
        "venv": ("python3-venv",),
        "docker-engine": ("docker.io",),
    },
    "dnf": {
        "java": ("java-21-openjdk-headless",),
        "iptables": ("iptables-nft",),
        "iproute2": ("iproute",),
        "mount": ("util-linux",),
        "browser": ("chromium",),
        "browser-driver": ("chromedriver",),
        "venv": ("python3-pip",),
    },
    "zypper": {
        "mount": ("util-linux",),
        "java": ("java-17-openjdk-headless",),
        "browser": ("chromium",),
        "browser-driver": ("chromedriver",),
        "venv": ("python3-pip",),
    },
    "pacman": {
        "mount": ("util-linux",),
        "java": ("jre17-openjdk-headless",),
        "browser": ("chromium",),
        "browser-driver": ("chromium",),
        "venv": ("python",),
    },
    "apk": {
        "java": ("openjdk17-jre-headless",),
        "util-linux": ("util-linux-misc", "setpriv"),
        "browser": ("chromium",),
        "browser-driver": ("chromium-chromedriver",),
        "venv": ("py3-pip",),
    },
}


def search_path() -> str:
    """The PATH for looking programs up and running them: with an administrator's folders."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([*folders, *(f for f in SYSTEM_FOLDERS if f not in folders)])


def program(name: str) -> Path | None:
    """The path of a program; None if it is not installed."""
    path = shutil.which(name, path=search_path())
    return Path(path) if path else None


def require(names: Iterable[str]) -> None:
    """Raise HostError that names the first missing one of these programs."""
    for name in names:
        if program(name) is None:
            raise HostError(_lacking(name))


def if_a_program(error: FileNotFoundError) -> str | None:
    """A sentence on a program that was not found; None if the error is about a file."""
    name = str(error.filename or "")
    return _lacking(name) if name and "/" not in name else None


def _lacking(name: str) -> str:
    command = install_command([{**PROGRAMS, **FAULT_PROGRAMS}.get(name, name)])
    return f"the program {name} is in no folder of PATH: add its folder, or install it: {command}"


def libfaketime() -> Path | None:
    """The library that shifts a program's clock, in its form for threads; None if it is missing."""
    for folder in FAKETIME:
        for library in sorted(Path("/usr").glob(f"{folder}/libfaketimeMT.so.1")):
            return library
    return None


def missing() -> list[str]:
    """The unmet needs of a run, each once."""
    needs = [need for name, need in PROGRAMS.items() if program(name) is None]
    try:
        find_java()
    except HostError:
        needs.insert(0, "java")
    return list(dict.fromkeys(needs))


def missing_for_tests() -> list[str]:
    """The unmet needs of some tests, which are then skipped."""
    needs = [need for name, need in FAULT_PROGRAMS.items() if program(name) is None]
    needs += [] if libfaketime() else ["libfaketime"]
    needs += [] if any(map(program, BROWSERS)) else ["browser"]
    needs += [] if any(map(program, BROWSER_DRIVERS)) else ["browser-driver"]
    if own_engine():
        needs += [need for name, need in ENGINE_PROGRAMS.items() if program(name) is None]
    if own_engine() or docker_host():
        needs += [need for name, need in IMAGE_PROGRAMS.items() if program(name) is None]
        needs += [] if _has_compose() else ["docker-compose"]
    return needs


def dying_along(signal: str) -> tuple[str, ...]:
    """The words before a command that gives it this signal when its parent dies (setpriv(1)); none
    on a system without setpriv."""
    return ("setpriv", "--pdeathsig", signal) if program("setpriv") else ()


def own_engine() -> bool:
    """Whether the tests start a Docker engine of their own: root does, where there is no other."""
    return os.getuid() == 0 and package_manager() == "apt-get" and docker_host() is None


def docker_host() -> str | None:
    """The Docker engine that clients find by themselves: DOCKER_HOST, else the one that answers at
    the usual socket; None if there is neither."""
    if named := os.environ.get("DOCKER_HOST"):
        return named
    with socket.socket(socket.AF_UNIX) as engine:
        engine.settimeout(10)  # a connection may be what starts it
        try:
            engine.connect(DOCKER_SOCKET)
            engine.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return f"unix://{DOCKER_SOCKET}" if b" 200 " in engine.recv(100) else None
        except OSError:  # it is not there, does not answer, or is not for this user
            return None


def _has_compose() -> bool:
    """Whether compose is here: v1 as a program, or v2 as a plugin of docker."""
    if program("docker-compose") is not None:
        return True
    asked = ["docker", "compose", "version"]
    return program("docker") is not None and (
        subprocess.run(asked, capture_output=True, check=False).returncode == 0
    )


def package_manager() -> str | None:
    """The package manager of this system; None for an unknown one."""
    return next((name for name in _INSTALL if program(name)), None)


def install_command(needs: Iterable[str], manager: str | None = None) -> str:
    """The command that installs the packages behind `needs` on this platform, as this user."""
    if sys.platform != "linux":
        return "not supported: the local backend uses Linux namespaces; use a Linux machine"
    manager = manager or package_manager()
    if manager is None:
        return "install " + ", ".join(needs) + " with this system's package manager"
    sudo = "" if os.getuid() == 0 else "sudo "
    return f"{sudo}{_INSTALL[manager]} {' '.join(packages(manager, needs))}"


def packages(manager: str, needs: Iterable[str]) -> list[str]:
    """The packages of `manager` for these needs; an unlisted need is itself a package's name."""
    names: list[str] = []
    for need in needs:
        choices = _PACKAGES[manager].get(need, (need,))
        if manager == "apk" and need == "util-linux":  # split in two there
            names += choices
        else:
            names.append(next((name for name in choices if _known(manager, name)), choices[0]))
    return list(dict.fromkeys(names))


def _known(manager: str, name: str) -> bool:
    """Whether apt can install the package now; True for other managers, which are not asked."""
    if manager != "apt-get" or program("apt-cache") is None:
        return True
    asked = subprocess.run(
        ["apt-cache", "policy", name], capture_output=True, text=True, check=False
    )
    return "Candidate:" in asked.stdout and "Candidate: (none)" not in asked.stdout
