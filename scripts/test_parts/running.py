"""One part as a process, and what is left of it.

FOLDER/junit.xml      each test (scripts.test_parts.outcomes)
FOLDER/log.txt        what pytest printed
FOLDER/measured.json  what it cost (scripts.test_parts.measured)
FOLDER/runs           what its tests made, if one of them failed
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.checkout import ROOT
from scripts.test_parts.outcomes import Outcome, read
from scripts.test_parts.parts import Part

PASSED, FAILED, NO_TESTS = 0, 1, 5  # pytest's exit codes


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A part that has ended."""

    part: Part
    folder: Path
    code: int

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """Its tests; none where pytest could not tell of any."""
        return read(self.folder / "junit.xml")

    @cached_property
    def measured(self) -> dict[str, Any]:
        """What it cost; empty where it was killed."""
        file = self.folder / "measured.json"
        found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        return found

    @property
    def left(self) -> list[str]:
        """The processes that it left behind."""
        left: list[str] = self.measured.get("left", [])
        return left

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong; it may have no tests."""
        return self.code in (PASSED, NO_TESTS) and bool(self.measured) and not self.left

    @property
    def told(self) -> bool:
        """Whether all that is wrong is in its tests."""
        return self.code == FAILED and any(each.bad for each in self.outcomes) and not self.left

    @property
    def runs(self) -> Path:
        """What its tests made."""
        return self.folder / "runs"


class Running:
    """A part that runs."""

    def __init__(
        self, part: Part, folder: Path, paths: Sequence[str] = (), *, root: Path = ROOT
    ) -> None:
        """Begin it in this checkout; `paths` are some of its files, else it is all of them."""
        folder.mkdir(parents=True)
        self.part, self.folder = part, folder
        # Unix sockets lie below: the path must be short, and a checkout's may be long.
        self._made = Path(tempfile.mkdtemp(prefix="kht-"))
        argv = [sys.executable, "-m", "scripts.test_parts.measured", str(folder / "measured.json")]
        argv += part.program
        if part.paths:
            argv += ["-p", "scripts.test_parts.starvation", "-o", "junit_family=xunit1"]
            argv += [f"--junitxml={folder / 'junit.xml'}", f"--basetemp={self._made / 'runs'}"]
        pace = folder.parent / "pace.txt"  # tests.support.host_pace
        pace.touch()
        # Some hosts set it; each of a thousand processes would compile all modules again.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        with (folder / "log.txt").open("wb") as log:
            self._process = subprocess.Popen(
                [*argv, *(paths or part.paths)],
                cwd=root,
                env={**environment, "PYTHONPATH": str(ROOT), "HARNESS_PACE_FILE": str(pace)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches it once, by `end`
            )

    def over(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def progress(self) -> str:
        """How far it is, as pytest tells."""
        found = re.findall(r"\[ *(\d+)%\]", (self.folder / "log.txt").read_text(errors="replace"))
        return f"{self.part.name} {found[-1]} %" if found else self.part.name

    def end(self) -> None:
        """Have it end its tests, as Ctrl-C does."""
        if not self.over():
            self._process.send_signal(signal.SIGTERM)

    def ended(self) -> Ended:
        """Wait for its end; run folders are kept if something failed."""
        code = self._process.wait()
        ended = Ended(part=self.part, folder=self.folder, code=code)
        if not ended.passed and (self._made / "runs").exists():
            shutil.move(self._made / "runs", ended.runs)
        shutil.rmtree(self._made, ignore_errors=True)
        return ended
