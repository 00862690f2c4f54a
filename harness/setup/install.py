"""Installs whatever a run needs and lacks; a complete set-up prints nothing.

Every step first checks whether it is done, so a second call takes a moment and changes nothing. Two
calls at once do not disturb each other, and the next call continues one that was killed.

    kafka-harness setup    wherever it is installed: system packages, Kafka's jars, class archives
    scripts/setup          of a checkout: .venv too. Exit 0: ready. Exit 1: the last lines name
                           what is missing, and the command to install it

    --only-python          .venv alone: what reads the code and the unit tests need no more
    --tests                what only some tests need, too, as far as it is to be had: without it
                           these are skipped

`scripts/setup` starts this before there is a virtual environment, so this and the modules that it
imports use the standard library only.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from harness.checkout import ROOT
from harness.distribution import kafka_home
from harness.host import system_packages
from harness.host.machine import HostError
from harness.host.namespaces import UNSHARE
from harness.model.exit_codes import interrupted
from harness.model.sections.kafka_releases import DEFAULT, NEWEST

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".installed"  # what .venv was made of, written once it is whole
TRAINED = VENV / ".trained"  # the same, once an archive for this Spark was made or tried
# Pinned and hashed by `make requirements`; PySpark comes as source, so what builds comes first.
REQUIREMENTS = (ROOT / "requirements" / "build.txt", ROOT / "requirements" / "packages.txt")

# It reads the workflows for a test. Made of its source, since nobody here fetches programs.
ACTIONLINT = VENV / "bin" / "actionlint"
_ACTIONLINT_SOURCE = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
_GO = (shutil.which("go"), "/usr/local/go/bin/go")

LOOK_S = 20  # longer than that, something was installed

_say = partial(print, flush=True)


class SetUpError(HostError):
    """The reason that stops set-up, with the command that helps."""


def set_up() -> None:
    """Set up what a run needs besides the installed Python packages. Raises SetUpError,
    KafkaHomeError."""
    _install_system_packages()
    _prepare(Path(sys.executable))
    _train_spark(Path(sys.executable))


def set_up_checkout() -> None:
    """The same for a checkout, with a .venv of its own. Raises SetUpError, KafkaHomeError."""
    _install_system_packages()
    set_up_python()
    _prepare(PYTHON)
    if not _is_stamped(TRAINED):
        _train_spark(PYTHON)
        TRAINED.write_text(_wanted())


def set_up_python() -> None:
    """Set up a checkout's .venv, and nothing of the system. Raises SetUpError."""
    if _is_stamped(STAMP):
        return
    with _alone():
        # Debian takes ensurepip, and with it a `venv` that works, out of its python3 package.
        if not PYTHON.exists() and importlib.util.find_spec("ensurepip") is None:
            _install(["venv"])
        _install_python_packages()


def set_up_tests() -> None:
    """Set up what a run needs, and what only some tests need as far as possible. Raises SetUpError,
    KafkaHomeError."""
    set_up_checkout()
    _install_for_tests()
    _fetch(PYTHON, "-m", "harness.distribution.jars_for_tests", "minicluster")
    _fetch(PYTHON, "-m", "harness.distribution.class_archives", NEWEST)
    _fetch(PYTHON, "-m", "harness.distribution.class_archives", DEFAULT, "kraft")
    _make_actionlint()


def _alone() -> AbstractContextManager[None]:
    return kafka_home.locked(kafka_home.cache_folder() / "set-up.lock", _say)


def _prepare(python: Path) -> None:
    _check_namespaces(python)
    _fetch(python, "-m", "harness.distribution.class_archives")


# --- system packages


def _install_system_packages() -> None:
    """Install what every run needs."""
    if not system_packages.missing():
        return
    with _alone():
        needs = system_packages.missing()  # another set-up may have been here
        _install(needs)
        if left := system_packages.missing():
            raise SetUpError(f"still missing after apt-get installed what has {needs}: {left}")


def _install_for_tests() -> None:
    """Install what only some tests need; a line names what cannot be installed."""
    if not system_packages.missing_for_tests():
        return
    with _alone():
        needs = system_packages.missing_for_tests()
        for wanted in (needs, *([need] for need in needs)):  # each alone where not all can be had
            if {*wanted} & {*system_packages.missing_for_tests()}:
                with contextlib.suppress(SetUpError):
                    _install(wanted)
    if left := system_packages.missing_for_tests():
        command = system_packages.install_command(left)
        _say(f"tests are skipped that need what is missing: {', '.join(left)} (install: {command})")


def _install(needs: Sequence[str]) -> None:
    """Install packages for these needs. Raises SetUpError where apt may not be used, or fails."""
    if not needs:
        return
    privilege = _apt_privilege()
    if privilege is None:
        command = system_packages.install_command(needs)
        raise SetUpError(f"missing: {', '.join(needs)}. Install with\n\n    {command}\n")
    _say(f"installing system packages for {', '.join(needs)}")
    apt_install(system_packages.packages("apt-get", needs), privilege)


def apt_install(names: Sequence[str], privilege: Sequence[str] = ()) -> None:
    """Install packages with apt. Raises SetUpError with its output."""
    # RUNLEVEL=1: no package starts a service; the tests run the Docker engine by themselves.
    apt = [*privilege, "env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "apt-get", "-qq"]
    apt += ["-o", "DPkg::Lock::Timeout=300"]  # another apt may be running
    update = _run([*apt, "update"])  # where it fails, the lists that are here may do
    done = _run([*apt, "install", "-y", "--no-install-recommends", *names])
    if done.returncode != 0:
        output = (update.stdout if update.returncode else "") + done.stdout
        raise SetUpError(f"apt-get could not install {' '.join(names)}:\n{output.strip()}")


def _apt_privilege() -> list[str] | None:
    """The words before apt-get: none for root, sudo if it asks nothing; None if neither is
    possible."""
    if system_packages.package_manager() != "apt-get":
        return None
    if os.getuid() == 0:
        return []
    return ["sudo", "-n"] if _run(["sudo", "-n", "true"]).returncode == 0 else None


# --- Python packages


def _install_python_packages() -> None:
    if _is_stamped(STAMP):
        return
    STAMP.unlink(missing_ok=True)
    if _run([str(PYTHON), "-P", "-m", "pip", "--version"]).returncode != 0:
        _say(f"making .venv with Python {sys.version.split()[0]}")
        made = _run([sys.executable, "-P", "-m", "venv", "--clear", str(VENV)])
        if made.returncode != 0:
            command = system_packages.install_command(["venv"])
            raise SetUpError(
                f"{made.stdout.strip()}\nthe virtual environment could not be made: try {command}"
            )
    _say("installing Python packages into .venv (PySpark is most of it)")
    pip = [str(PYTHON), "-P", "-m", "pip", "install", "--quiet", "--no-input"]
    pip += ["--disable-pip-version-check", "--no-build-isolation"]  # nothing that is not pinned
    pinned = [[*pip, "--require-hashes", "--requirement", str(file)] for file in REQUIREMENTS]
    for pip_install in (*pinned, [*pip, "--no-deps", "--editable", str(ROOT)]):
        done = _run(pip_install)
        if done.returncode != 0:
            raise SetUpError(
                f"{done.stdout.strip()}\n"
                "pip could not install the Python packages: check the network and pip's settings"
            )
    unfinished = STAMP.with_suffix(".new")
    unfinished.write_text(_wanted())
    unfinished.rename(STAMP)


def _wanted() -> str:
    """A digest of what .venv must be made of; when it changes, pip runs again."""
    files = (ROOT / "pyproject.toml", *REQUIREMENTS)
    made_of = [*(file.read_text() for file in files), str(ROOT)]
    return hashlib.sha256("\n".join(made_of).encode()).hexdigest()


def _is_stamped(stamp: Path) -> bool:
    return PYTHON.exists() and stamp.exists() and stamp.read_text() == _wanted()


# --- the host, and jars


def _check_namespaces(python: Path) -> None:
    """Raise SetUpError with the doctor's reason if a run's namespaces cannot be made here."""
    if _run([*UNSHARE, "true"]).returncode != 0:
        answer = _run([str(python), "-P", "-m", "harness.setup.doctor", "namespaces"])
        raise SetUpError(answer.stdout.strip())


def _fetch(python: Path, *module: str) -> None:
    """Fetch jars and make class archives that the cache lacks; the user sees the progress."""
    fetch = [str(python), "-P", "-u", *module]
    if subprocess.run(fetch, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise SetUpError("jars could not be set up: see the lines above")


def _make_actionlint() -> None:
    """Make actionlint if a Go is installed; otherwise the test that needs it says so."""
    go = next((path for path in _GO if path and Path(path).exists()), None)
    if go is None or ACTIONLINT.exists():
        return
    _say("making actionlint")
    done = _run([go, "install", _ACTIONLINT_SOURCE], {"GOBIN": str(ACTIONLINT.parent)})
    if done.returncode != 0:
        _say(f"actionlint could not be made: {done.stdout.strip()}")


def _train_spark(python: Path) -> None:
    """A class archive for the checker's JVM, unless it is in the cache. Without it checks start
    slower, nothing else."""
    train = [str(python), "-P", "-m", "analysis.job.train_archive"]
    subprocess.run(train, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def _run(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run quietly, errors among the output; a missing program fails like any other."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, **(environment or {})},
        )
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, stdout=str(error))


LEVELS = {"": set_up_checkout, "--only-python": set_up_python, "--tests": set_up_tests}


def main(argv: Sequence[str]) -> int:
    """Set up the level that the argument names."""
    level = LEVELS.get(" ".join(argv))
    if level is None:
        sys.stderr.write(f"usage: scripts/setup [{' | '.join(filter(None, LEVELS))}]\n")
        return 1
    if sys.platform != "linux":
        sys.stderr.write(
            "set-up stopped: only Linux is supported, because nodes run in namespaces\n"
        )
        return 1
    begun_s = time.monotonic()
    try:
        level()
        _say_cost(time.monotonic() - begun_s)
    except HostError as error:
        sys.stderr.write(f"set-up stopped: {error}\n")
        return 1
    except KeyboardInterrupt:
        return interrupted(signal.SIGINT)
    return 0


def _say_cost(wall_s: float) -> None:
    """Print the cost of an installation; a call that found everything in place prints nothing."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if wall_s > LOOK_S:
        _say(f"set-up took {wall_s:.0f} s, {used.ru_utime + used.ru_stime:.0f} CPU s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
