"""Where the checkout is, and what of it is needed while the harness runs. No other knows.

Files that belong to one module (templates, scripts) lie beside it and are read as its package's
resources; everything else that is found by a path is named here.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

DOCS = ROOT / "docs"
SCENARIOS = ROOT / "harness" / "scenarios"
COMPOSE_FILE = ROOT / "docker-compose.yml"
IMAGES = ROOT / "images"
MANIFESTS = ROOT / "k8s"
