"""Resolves `${…}` in a file's values from the file itself, or by its default.

    spring     ${spring.application.name}-tx-    =>  orders-tx-   where the file has that key
               ${ACKS:all}                       =>  all
               ${random.uuid}                    =>  {index}, the worker's number
    compose    ${ACKS:-all}, ${ACKS-all}         =>  all          shells have these, too
               ${ACKS:+all}, ${ACKS+all}         =>  nothing, where ACKS is not set
               $$ACKS                            =>  $ACKS
    either     ${ACKS}                           =>  an error, where the setting is used

It never reads the environment of this process: the experiment would differ elsewhere. A note names
each default that it takes. Source: Spring, "Property Placeholder"; the Compose Specification,
"Interpolation".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Literal

from harness.config_files.settings import Setting

Dialect = Literal["spring", "compose"]
Lookup = Callable[[str], str | None]

_INNERMOST = {
    "spring": re.compile(r"\$\{([^${}]*)\}"),
    "compose": re.compile(r"\$\{([^${}]*)\}|\$([A-Za-z_]\w*)"),
}
_OF_COMPOSE = re.compile(r"(\w+)(?:(:?[-+?])(.*))?", re.DOTALL)
_DOLLAR = "\0"  # stands for Compose's $$ while all others are replaced
_MOST = 100  # replacements of one value: two that name each other never end
# What other tools fill in before Kafka sees the file.
_TEMPLATE = re.compile(r"\$\{[^}]*\}|\{\{.*?\}\}|\{%.*?%\}|<%.*?%>|#\{[^}]*\}")
# Kafka's own: ${provider:path:key}. Source: KIP-421.
_PROVIDED = re.compile(r"\$\{(\w+):[^}]+\}")


class UnresolvedError(ValueError):
    """A value is not known; the message names what is missing, and the remedy."""


def template_in(value: str, providers: Collection[str] = ()) -> str | None:
    """The part of a value that another tool would have to fill in; None if there is none.
    `providers`: those that Kafka itself asks."""
    templates = (match[0] for match in _TEMPLATE.finditer(value))
    return next((text for text in templates if not is_provided(text, providers)), None)


def is_provided(text: str, providers: Collection[str]) -> bool:
    """Whether one of these providers fills that placeholder."""
    match = _PROVIDED.match(text)
    return match is not None and match[1] in providers


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves the placeholders of one file. `lookup`: a key's value there."""

    dialect: Dialect
    lookup: Lookup = lambda _: None

    def resolved(self, setting: Setting) -> Setting:
        """The setting without placeholders; if that is impossible, with the problem, which matters
        only where the setting is used."""
        if setting.problem:
            return setting
        try:
            value, assumed = self._text(setting.value)
            return replace(setting, value=value, assumed=assumed)
        except UnresolvedError as error:
            return replace(setting, problem=str(error))

    def _text(self, value: str) -> tuple[str, tuple[str, ...]]:
        """The value without placeholders, and the assumed values of those that the file does not
        know. Raises UnresolvedError."""
        assumed: list[str] = []
        compose = self.dialect == "compose"
        if compose:
            value = value.replace("$$", _DOLLAR)
        for _ in range(_MOST):
            match = _INNERMOST[self.dialect].search(value)
            if match is None:
                break
            inside = match[match.lastindex or 0]
            text, known = (self._of_compose if compose else self._of_spring)(inside, match[0])
            assumed += [] if known else [f"{match[0].replace(_DOLLAR, '$$')} is {text or 'empty'}"]
            value = value[: match.start()] + text + value[match.end() :]
        if left := template_in(value):
            raise UnresolvedError(f"{left} is not resolved: write the value that it stands for")
        return value.replace(_DOLLAR, "$"), tuple(assumed)

    def _of_spring(self, inside: str, whole: str) -> tuple[str, bool]:
        """The value of a placeholder, and whether the file knows it."""
        name, colon, default = inside.partition(":")
        if (value := self.lookup(name)) is not None:
            return value, True
        if name.startswith("random."):  # Spring's own, another for each instance
            return "{index}", False
        if not colon:
            raise UnresolvedError(
                f"{whole} stands nowhere in the file, and has no default: write its value, or "
                f"${{{name}:VALUE}}"
            )
        return default, False

    def _of_compose(self, inside: str, whole: str) -> tuple[str, bool]:
        """The same."""
        parts = _OF_COMPOSE.fullmatch(inside)
        if parts is None:
            raise UnresolvedError(f"{whole} is not a variable: write the value that it stands for")
        name, sign, word = parts[1], parts[2] or "", parts[3] or ""
        value = self.lookup(name)
        is_there = bool(value) if sign.startswith(":") else value is not None
        if sign.endswith("+"):
            return (word if is_there else ""), is_there
        if is_there:
            return value or "", True
        if sign.endswith("-"):
            return word, False
        raise UnresolvedError(
            f"{whole} stands nowhere in the file, and has no default: write its value, or "
            f"${{{name}:-VALUE}}"
        )
