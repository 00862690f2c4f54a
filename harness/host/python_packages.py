"""Names the command that installs a Python package into the harness's environment."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec


def install_command(requirement: str) -> str:
    """The command that works here: an environment without pip was made by uv."""
    python, wanted = shlex.quote(sys.executable), shlex.quote(requirement)
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {wanted}"
    return f"{python} -m pip install {wanted}"
