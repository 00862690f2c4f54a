"""The keys in which two shipped scenarios differ."""

from __future__ import annotations

from typing import Any


def differences(one: Any, other: Any, path: str = "") -> set[str]:
    """Dotted paths at which two resolved scenarios differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = one.keys() | other.keys()
        return {
            d for key in keys for d in differences(one.get(key), other.get(key), f"{path}/{key}")
        }
    return set() if one == other else {path}
