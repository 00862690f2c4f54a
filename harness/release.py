"""What the harness comes with, from a wheel or in a checkout: its release, the commit that it was
made of, and the files that are found by a path.

    harness/shipped/      docker-compose.yml, docker-compose.kraft.yml, images/, k8s/, and of docs/
                          the pages and nightly.toml, in a wheel; a checkout has them at its root,
                          where they are edited
    harness/commit.txt    in a wheel; a checkout asks git

scripts/build_hook.py puts both into a wheel. Files that belong to one module (templates, scripts)
lie beside it and are read as its package's resources. Standard library only: set-up and the build
hook import this where no package is installed yet.
"""

from __future__ import annotations

import subprocess

from harness.checkout import ROOT

UNKNOWN = "unknown"
SHIPPED = ROOT / "harness" / "shipped"
INSTALLED = SHIPPED.is_dir()  # from a wheel
COMMIT_FILE = ROOT / "harness" / "commit.txt"

FILES = SHIPPED if INSTALLED else ROOT
COMPOSE_FILE = FILES / "docker-compose.yml"
KRAFT_COMPOSE_FILE = FILES / "docker-compose.kraft.yml"
IMAGES = FILES / "images"
MANIFESTS = FILES / "k8s"
PAGES = FILES / "docs"
SCENARIOS = ROOT / "harness" / "scenarios"
NO_LEDGERS = ":(exclude,glob)docs/data/*.jsonl"


def version() -> str:
    """The release, as CHANGELOG.md numbers it."""
    if INSTALLED:
        from importlib import metadata  # noqa: PLC0415  slow to import

        return metadata.version("kafka-harness")
    import tomllib  # noqa: PLC0415  the same

    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def commit() -> str:
    """The commit, with `dirty` behind it where files differ from it, but for the ledgers, which a
    campaign writes; UNKNOWN where neither the wheel nor git can tell."""
    if COMMIT_FILE.exists():
        return COMMIT_FILE.read_text().strip()
    if _git("rev-parse", "--show-toplevel") != str(ROOT):  # unpacked in somebody else's repository
        return UNKNOWN
    head, changed = _git("rev-parse", "HEAD"), _git("status", "--porcelain", "--", ".", NO_LEDGERS)
    return f"{head} dirty" if head and changed else head or UNKNOWN


def described() -> str:
    """Release, commit and place in one line."""
    return f"kafka-harness {version()}, commit {commit()}, files in {FILES}"


def _git(*words: str) -> str | None:
    """What git says of the checkout; None where it refuses or is not there."""
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(ROOT), *words],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
