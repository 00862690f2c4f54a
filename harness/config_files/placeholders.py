"""`${…}` in a file's values: resolved from the file itself, or by the default that stands there.

    ${spring.application.name}-tx-    =>  orders-tx-    where the file has spring.application.name
    ${ACKS:all}                       =>  all           Spring
    ${ACKS:-all}                      =>  all           Compose, and shells
    ${ACKS}                           =>  an error, where the setting is used

The environment of this process is never read: the experiment would be another one elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.config_files.settings import Setting

Lookup = Callable[[str], str | None]

_INNERMOST = re.compile(r"\$\{([^${}]*)\}")
_MOST = 100  # replacements of one value: two that name each other never end
# What other tools fill in before Kafka sees the file.
_TEMPLATE = re.compile(r"\$\{[^}]*\}|\{\{.*?\}\}|\{%.*?%\}|<%.*?%>|#\{[^}]*\}")


class UnresolvedError(ValueError):
    """A value whose text is not known; the message names what is missing, and the remedy."""


def template_in(value: str) -> str | None:
    """What of a value another tool would have to fill in; None: it is what it is."""
    found = _TEMPLATE.search(value)
    return found[0] if found else None


def resolved(value: str, lookup: Lookup) -> str:
    """The value without placeholders. `lookup`: a key's value in the file. Raises
    UnresolvedError."""
    for _ in range(_MOST):
        found = _INNERMOST.search(value)
        if found is None:
            break
        value = value[: found.start()] + _one(found[1], lookup) + value[found.end() :]
    if left := template_in(value):
        raise UnresolvedError(f"{left} is not resolved: write the value that it stands for")
    return value


def as_kafkas(
    setting: Setting, key: str, lookup: Lookup, plain: Callable[[str], str] = str
) -> Setting:
    """A setting under Kafka's name, its value resolved and then made `plain`; with the problem
    where that cannot be, which matters only to who uses it."""
    value, problem = setting.value, setting.problem
    try:
        value = plain(value if problem else resolved(value, lookup))
    except ValueError as error:  # what `plain` cannot read as well
        problem = str(error)
    return Setting(key=key, value=value, line=setting.line, name=setting.key, problem=problem)


def _one(inside: str, lookup: Lookup) -> str:
    name, colon, default = inside.partition(":")
    if not colon and lookup(inside) is None and "-" in inside:
        name, colon, default = inside.partition("-")  # Compose: unset alone counts
    if (known := lookup(name)) is not None:
        return known
    if colon and not default.startswith(("?", "+")):
        return default.removeprefix("-")
    raise UnresolvedError(
        f"${{{inside}}} stands nowhere in the file, and has no default: write its value, or "
        f"${{{name}:VALUE}}"
    )
