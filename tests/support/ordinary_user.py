"""What an ordinary user of this machine can run, found by trying it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from harness.host import system_packages

# `env` is started without the capabilities that setpriv itself still has when it starts it.
_NOBODY = (
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=-all",
    "--bounding-set=-all",
    "env",
)
AS_USER = _NOBODY if os.geteuid() == 0 else ()  # before a command; its files belong to USER_ID
USER_ID = 65534 if os.geteuid() == 0 else os.geteuid()


def python_of_user() -> str:
    """A Python of our version that such a user can run; without one the test is skipped, or fails
    where HARNESS_REQUIRE asks for it."""
    base = os.path.realpath(sys.executable)
    found = next((each for each in (base, "/usr/bin/python3") if _can_run(each)), None)
    if found is None:
        why = f"no Python {sys.version_info[0]}.{sys.version_info[1]} that an ordinary user may run"
        if system_packages.required("ordinary-user"):
            pytest.fail(f"HARNESS_REQUIRE: there is {why}")
        pytest.skip(f"there is {why}")
    return found


def _can_run(python: str) -> bool:
    version = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    try:
        asked = subprocess.run([*AS_USER, python, "-c", version], capture_output=True, check=False)
    except OSError:  # setpriv, or the Python, is not there
        return False
    return asked.returncode == 0
