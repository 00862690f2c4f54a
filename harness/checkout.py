"""Where the checkout is, and its pages: what is developed, tested and written there starts here.

What a run needs and finds by a path comes with every installation: harness.release.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # of an installed harness: the folder of all packages

DOCS = ROOT / "docs"
