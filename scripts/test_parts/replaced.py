"""A pytest plugin: a test that ended its worker is not run again by the one that replaces it.

pytest-xdist's schedulers by scope run it again, four times a worker, and then give the others up.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling


class Files(LoadFileScheduling):  # type: ignore[misc]  # xdist tells no types
    """Whole files; the rest of one whose worker died goes to another worker."""

    def remove_node(self, node: Any) -> str | None:
        """Take a worker out; the test that it died of."""
        units = self.assigned_work[node].values()
        left = [(unit, test) for unit in units for test, done in unit.items() if not done]
        if left:
            unit, test = left[0]
            unit[test] = True
        super().remove_node(node)
        return left[0][1] if left else None


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """For `--dist=loadfile`."""
    return Files(config, log) if config.getvalue("dist") == "loadfile" else None
