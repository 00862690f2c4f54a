"""The environment in which pages are made: everything that a run recorded is escaped in it."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from analysis.report import wording
from harness.model.sections.expect import amount_words

TEMPLATES = files("analysis.report") / "templates"
FILTERS = ("number", "seconds", "moment", "utc", "milliseconds", "plain", "flat", "fault_name")
WORDS = (
    "broker_words",
    "configuration_words",
    "whose_words",
    "fault_counts",
    "roles_words",
    "count_of",
)


def environment() -> Environment:
    """Our templates with the words that they use."""
    made = Environment(
        loader=PackageLoader("analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {name: getattr(wording, name) for name in FILTERS}
    made.filters["amount"] = amount_words
    made.globals |= {name: getattr(wording, name) for name in WORDS}
    return made


def style() -> Markup:
    """The pages' style sheet."""
    return Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 our own
