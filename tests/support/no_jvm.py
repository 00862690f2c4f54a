"""Where no JVM starts: of this process, and of all that descends from it with its environment.

Each JVM reads JAVA_TOOL_OPTIONS before anything else: there it is told to make a file, which says
that it was there, and then to load an agent that does not exist, which ends it.

Cannot see: one that is started with an environment that lacks the variable.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

VARIABLE = "JAVA_TOOL_OPTIONS"
AGENT = "/a-test-without-pytest.mark.jvm-starts-no-JVM"


class JvmStarted(Exception):
    """Something was about to start one."""


@contextmanager
def no_jvm() -> Iterator[None]:
    """Inside the block none starts. Raises JvmStarted at its end where one was about to."""
    seen = Path(tempfile.gettempdir(), f"jvm-of-{os.getpid()}")
    options = f'"-Xlog:startuptime:file={seen}::filecount=0" -agentpath:{AGENT}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, VARIABLE, options)
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            patch.setitem(os.environ, "JAVA_HOME", "/nowhere")  # who only tells Spark needs none
        try:
            yield
        finally:
            if seen.exists():
                seen.unlink()
                raise JvmStarted("a JVM is started by a test without pytest.mark.jvm")
