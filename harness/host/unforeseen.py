"""Turns an unexpected error into one sentence for the user, and keeps the details for a maintainer.

    kafka-harness: unexpected error (KeyError: 'x'): a defect of the harness; its details are in
    results/study-1/20261121T021500Z-42/unexpected-20261121T031500Z-812.txt

The details are the traceback without values of variables, the versions and the arguments. They go
into the run's folder if there is one and it can be written, else into the user's state folder, else
among the temporary files; only the user can read them. Arguments that may be secret are left out,
here and wherever else their text occurs.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness import release

PACKAGES = ("confluent-kafka", "pyspark", "pyarrow", "pydantic", "plotly")
SECRET_OPTIONS = ("--copy-to",)  # a URI may hold a password
SECRET_WORDS = re.compile(r"password|secret|token|credential|\bkey\b|jaas", re.IGNORECASE)
HIDDEN = "(not kept)"
LONGEST = 300  # characters of an exception's own words


@contextmanager
def details_go_to(folder: Path) -> Iterator[None]:
    """Keep the details of an unexpected error inside the block in this run's folder."""
    try:
        yield
    except Exception as error:
        if not hasattr(error, "of_run"):
            error.of_run = folder  # type: ignore[attr-defined]
        raise


def sentence_of(error: BaseException, arguments: Sequence[str]) -> str:
    """The sentence for the user; keeps the details."""
    secrets = _secrets(arguments)
    words = _without(f"{type(error).__name__}: {_words(error)}", secrets)
    line = re.sub(r"[^ -~]+", " ", " ".join(words.split()))
    shown = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
    file = _keep(error, arguments, secrets)
    where = f"its details are in {file}" if file else "its details could not be kept anywhere"
    return f"unexpected error ({shown.rstrip(': ')}): a defect of the harness; {where}"


def _words(error: BaseException) -> str:
    """An error's own text; even asking for it may fail."""
    try:
        return str(error)
    except Exception:
        return ""


def exit_code_of(main: Callable[[], int], *, failed: int) -> int:
    """The exit code of `main`, or `failed` and one sentence for an unexpected error."""
    try:
        return main()
    except Exception as error:
        sys.stderr.write(f"{sentence_of(error, sys.argv[1:])}\n")
        return failed


def _keep(error: BaseException, arguments: Sequence[str], secrets: Sequence[str]) -> Path | None:
    """Write the details to the first folder that takes them."""
    text = _without(_details(error, arguments), secrets)
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for folder in _places(error):
        file = folder / f"unexpected-{now}-{os.getpid()}.txt"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(opened, "w", encoding="utf-8", errors="backslashreplace") as out:
                out.write(text)
        except OSError:
            continue
        return file
    return None


def _places(error: BaseException) -> Iterator[Path]:
    run: Path | None = getattr(error, "of_run", None)
    if run is not None and run.is_dir():
        yield run
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    with suppress(RuntimeError):  # nobody's home
        yield Path(state).expanduser() / "kafka-harness"
    yield Path(tempfile.gettempdir())


def _details(error: BaseException, arguments: Sequence[str]) -> str:
    trace = "".join(traceback.format_exception(error))
    packages = "\n".join(f"{name} {_version(name)}" for name in PACKAGES)
    return (
        f"arguments: {' '.join(_without_secrets(arguments))}\n\n{trace}\n"
        f"Python {platform.python_version()}, {platform.system()} {platform.release()}\n"
        f"{_release()}\n{packages}\n"
    )


def _release() -> str:
    try:
        return release.described()
    except Exception:  # whatever is broken may break this too
        return "kafka-harness of an unknown release"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"


def _without_secrets(arguments: Sequence[str]) -> list[str]:
    """The arguments without possible secrets; a command after `--` is left out as a whole."""
    kept: list[str] = []
    for before, word in zip(["", *arguments], arguments, strict=False):
        name, equals, value = word.partition("=")
        if word == "--":
            return [*kept, word, HIDDEN]
        if before in SECRET_OPTIONS:
            kept.append(HIDDEN)
        elif equals and value and (name in SECRET_OPTIONS or SECRET_WORDS.search(name)):
            kept.append(f"{name}={HIDDEN}")
        else:
            kept.append(word)
    return kept


def _secrets(arguments: Sequence[str]) -> list[str]:
    """The texts that `_without_secrets` leaves out, longest first."""
    words = list(arguments)
    after = words[words.index("--") + 1 :] if "--" in words else []
    secrets = set(after)
    for word, kept in zip(words, _without_secrets(words), strict=False):
        if kept == HIDDEN:
            secrets.add(word)
        elif kept != word:
            secrets.add(word.partition("=")[2])
    return sorted(secrets - {"", "--"}, key=len, reverse=True)


def _without(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text
