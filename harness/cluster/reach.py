"""Whether a backend is to be had here, asked before a campaign or a benchmark begins: one whose
engine does not answer would fail run after run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.cluster import ClusterError
from harness.cluster.docker import without_sdk
from harness.cluster.engine import connect
from harness.cluster.kubernetes import access

Settings = Mapping[str, Any]


def absent(backend: str, settings: Settings) -> str | None:
    """Why it is not, if it is not; `settings` are those of a run there (`backend.X.KEY`)."""
    try:
        return _ASKED[backend](settings) if backend in _ASKED else "there is no such backend"
    except ClusterError as error:
        return str(error)


def _docker(_: Settings) -> str | None:
    if why := without_sdk():
        return why
    connect()
    return None


def _kubernetes(settings: Settings) -> str | None:
    if why := access.without_client():
        return why
    from harness.cluster.kubernetes.api import Api, configuration  # noqa: PLC0415

    Api(configuration(str(settings.get("backend.kubernetes.context", ""))), "default").version()
    return None


_ASKED: dict[str, Callable[[Settings], str | None]] = {
    "local": lambda _: None,
    "docker": _docker,
    "kubernetes": _kubernetes,
    "external": lambda _: None,  # its run asks first of all
}
