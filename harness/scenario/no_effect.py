"""Refuses keys without effect where somebody named them.

    kind = "stream" and rounds = 100 in one file     rounds counts for write-read alone
    --set workload.rate=5 with a write-read          rate counts for stream alone
    [[mixed.faults]] with at_s                       when it comes is drawn

Inherited keys (`extends`) do not count: a base says more than each of its variants needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.model.sections.faults import FaultPart, MixedPart
from harness.model.sections.workload import WorkloadPart

_KINDS = ("write-read", "stream")
_OF_A_DRAWN_FAULT = ("verb", "target", "options", "until", "for_s")


def kind_of_key(key: str) -> str | None:
    """The only kind of workload that a key of [workload] counts for; None: any kind."""
    field = WorkloadPart.model_fields.get(key)
    description = field.description or "" if field and key != "kind" else ""
    return next((kind for kind in _KINDS if description.startswith(f"`{kind}`")), None)


def in_file(own: Mapping[str, Any], inherited: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each key without effect in a file. `inherited`: its tables over those that it
    extends."""
    work, whole = own.get("workload"), inherited.get("workload")
    if isinstance(work, Mapping) and isinstance(whole, Mapping):
        yield from _of_kind(work, str(whole.get("kind")), "workload.{}")
    yield from _in_mixed(own)


def in_settings(settings: Mapping[str, Any], tables: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each setting of `--set` and its like without effect. `tables`: the scenario
    with them."""
    begin, whole = "workload.", settings.get("workload")
    keys = [path.removeprefix(begin) for path in settings if path.startswith(begin)]
    keys += whole if isinstance(whole, Mapping) else ()
    work = tables.get("workload")
    kind = str(work.get("kind")) if isinstance(work, Mapping) else ""
    yield from _of_kind(keys, kind, "--set workload.{}")
    yield from _in_mixed(tables)


def _of_kind(keys: Iterable[str], kind: str, path: str) -> Iterator[str]:
    for key in keys:
        other = kind_of_key(key)
        if other is not None and kind in _KINDS and other != kind:
            yield (
                f"{path.format(key)} counts for kind = {other!r} alone, and this is a {kind!r}: "
                "remove it"
            )


def _in_mixed(tables: Mapping[str, Any]) -> Iterator[str]:
    mixed = tables.get("mixed")
    faults = mixed.get("faults") if isinstance(mixed, Mapping) else None
    for number, fault in enumerate(faults if isinstance(faults, list | tuple) else ()):
        for key in fault if isinstance(fault, Mapping) else ():
            if key in FaultPart.model_fields and key not in _OF_A_DRAWN_FAULT:
                yield (
                    f"mixed.faults.{number}.{key} does nothing: when a fault of [mixed] comes is "
                    f"drawn by the seed; remove it, or use {MIXED_KEYS}"
                )


MIXED_KEYS = ", ".join(f"mixed.{key}" for key in MixedPart.model_fields if key != "faults")
