"""What may be asked: one query over the views, and nothing that does something.

    select count(*) from sends              asked
    insert overwrite directory '/tmp' …     refused: no query
    select transform(f) using 'rm -r /' …   refused: it would start a program
    select * from parquet.`/etc/shadow`     refused: no view

Spark's own parser reads the text, and each node of what it made must be one of `PARTS`, in
subqueries too: what is not known to only read is refused. Functions that call any method of Java
are taken from the session (analysis.ask.asked).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession

from analysis.ask.stored_tables import AskError
from analysis.ask.views import VIEWS

# Classes of org.apache.spark.sql.catalyst.plans.logical and .analysis: parts of a query.
PARTS: Final = frozenset(
    (
        *("Project", "Filter", "Aggregate", "Sort", "Distinct", "Generate", "Window"),
        *("GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"),
        *("Join", "LateralJoin", "Union", "Except", "Intersect", "AsOfJoin"),
        *("SubqueryAlias", "LocalRelation", "OneRowRelation", "Pivot", "Unpivot", "Expand"),
        *("UnresolvedRelation", "UnresolvedWith", "UnresolvedSubqueryColumnAliases"),
        *("UnresolvedHaving", "UnresolvedQualify", "UnresolvedInlineTable", "UnresolvedHint"),
        *("UnresolvedTableValuedFunction", "UnresolvedTVFAliases", "WithWindowDefinition"),
        *("PipeOperator", "UnresolvedTranspose", "NaturalJoin", "Range"),
    )
)
NAMES_SHOWN: Final = 3
TAKEN_AS_IT_IS: Final = ("spark.sql.variable.substitute", "false")  # without values for ${env:…}


def refuse(text: str, java: Any) -> None:
    """Raise AskError for all that is no query over the views, by the classes of a JVM in which no
    Spark is made yet."""
    sql = java.org.apache.spark.sql
    sql.internal.SQLConf.get().setConfString(*TAKEN_AS_IT_IS)
    _views_in(text, java, sql.execution.SparkSqlParser())


def used_views(spark: SparkSession, text: str) -> list[str]:
    """The views that a query names. Raises AskError for all that is no query over them."""
    return _views_in(text, spark._jvm, spark._jsparkSession.sessionState().sqlParser())


def _views_in(text: str, java: Any, parser: Any) -> list[str]:
    try:
        plan = parser.parsePlan(text)
    except ParseException as error:
        raise AskError(f"the query cannot be read: {in_words(error)}") from None
    aliases: set[str] = set()
    named: dict[str, None] = {}
    for node, kind in _every(java, plan):
        if kind not in PARTS:
            raise AskError(
                f"only one query can be asked, and this is none ({kind}): begin it with select or "
                "with, and write what it gives to a file with --format csv"
            )
        if kind == "SubqueryAlias":
            aliases.add(str(node.alias()).lower())
        elif kind == "UnresolvedRelation":
            named[str(node.tableName()).replace("`", "").lower()] = None
    for name in named:
        if name not in VIEWS and name not in aliases:
            raise AskError(f"no view {name!r}{near(name, VIEWS)}; there are {', '.join(VIEWS)}")
    return [name for name in named if name in VIEWS]


def _every(java: Any, node: Any) -> Iterator[tuple[Any, str]]:
    """Each node of a plan with the name of its class, those of subqueries and `with` too."""
    as_java = java.scala.jdk.javaapi.CollectionConverters.asJava
    yield node, str(node.getClass().getSimpleName())
    for parts in (node.children(), node.innerChildren(), node.subqueries()):
        for part in as_java(parts) if parts.nonEmpty() else ():
            yield from _every(java, part)


def in_words(error: PySparkException, columns: Iterable[str] = ()) -> str:
    """Spark's reason as a part of a sentence; an unknown column with near ones among these."""
    condition, parameters = error.getCondition() or "", error.getMessageParameters() or {}
    if condition.startswith("UNRESOLVED_COLUMN") or condition == "FIELD_NOT_FOUND":
        name = parameters.get("objectName") or parameters.get("fieldName") or ""
        whole = name.replace("`", "")
        last = whole.rsplit(".", 1)[-1]
        if last in set(columns):
            return f"column {whole!r} is not known at that place of the query"
        return f"no column {last!r}{near(last, columns)}"
    if condition == "UNRESOLVED_ROUTINE":
        return f"no function {parameters.get('routineName', '').replace('`', '')!r} for questions"
    return reason_in(str(error))


def reason_in(text: str) -> str:
    """Spark's own sentence in what an exception says; else what the last one that it names says."""
    named = re.search(r"\[[A-Z_.0-9]+\] (.+)", text)
    raised = re.search(r"^: ?[\w.$]+: (.+)", text, re.MULTILINE)  # behind "An error occurred …"
    found = named or raised
    first = found[1] if found else text.strip().split("\n", 1)[0]
    return re.sub(r"\.? SQLSTATE: \w{5}(?:; line .*)?", "", first).rstrip(". ")


def near(name: str, known: Iterable[str]) -> str:
    """`; near it: …`, or nothing."""
    found = difflib.get_close_matches(name.lower(), sorted(set(known)), NAMES_SHOWN, 0.4)
    return f" (near it: {', '.join(found)})" if found else ""
