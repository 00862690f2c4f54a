"""What an ordinary user of this machine can run, found by trying it."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.needs import lacks

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
    """A Python of our version that such a user can run."""
    base = os.path.realpath(sys.executable)
    found = next((each for each in (base, "/usr/bin/python3") if _can_run(each)), None)
    if found is None:
        version = ".".join(map(str, sys.version_info[:2]))
        lacks("ordinary-user", f"there is no Python {version} that an ordinary user may run")
    return found


def _can_run(python: str) -> bool:
    version = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    try:
        asked = subprocess.run([*AS_USER, python, "-c", version], capture_output=True, check=False)
    except OSError:  # setpriv, or the Python, is not there
        return False
    return asked.returncode == 0
