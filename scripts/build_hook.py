"""What hatch puts into a wheel beside the packages: the files that a run finds by a path, and the
commit that the wheel is made of (harness.release says where).

An archive of the sources keeps the commit too, so that a wheel made of it knows it; an editable
install reads the checkout itself and gets neither.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = ("docker-compose.yml", "docker-compose.kraft.yml", "images", "k8s")
PAGES = ("docs/*.md", "docs/nightly*.toml")


class ShippedFiles(BuildHookInterface[Any]):
    """Called by hatch before and after it builds."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files that are added."""
        if version == "editable":
            return
        included = build_data["force_include"]
        if self.target_name == "wheel":
            root = Path(self.root)
            pages = [str(page.relative_to(root)) for each in PAGES for page in root.glob(each)]
            included.update({name: f"harness/shipped/{name}" for name in (*SHIPPED, *pages)})
        sys.path.insert(0, self.root)
        from harness.release import COMMIT_FILE, commit  # noqa: PLC0415  stands beside this file

        if not COMMIT_FILE.exists():
            self._folder = tempfile.TemporaryDirectory()
            file = Path(self._folder.name) / COMMIT_FILE.name
            file.write_text(f"{commit()}\n")
            included[str(file)] = f"harness/{COMMIT_FILE.name}"
