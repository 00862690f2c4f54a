"""Stored runs, open to questions: in SQL, as Spark's DataFrames, as pandas' ones.

    with analysis.open("results/study-1/latest") as runs:
        runs.sql("select type, count(*) from sends group by type").show()
        runs.pandas("select start_s, took_ms from sends").plot.scatter("start_s", "took_ms")
        runs.anomalies.where("anomaly = 'lost'").toPandas()

A view is made when it is first asked for, from one scan over the files of all runs, so a thousand
runs are no thousand jobs. Views are of a Spark session of its own beside the caller's: nobody's
tables are seen or replaced, and nothing is written anywhere.

A run that is named must be whole: what is wrong with it is an error. Of the runs below a folder
that is named, those that cannot be asked are left out, and said (`left_out`).
"""

from __future__ import annotations

import contextlib
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, StructType

from analysis.ask.one_query import (
    TAKEN_AS_IT_IS,
    in_words,
    near,
    reason_in,
    refuse,
    used_views,
)
from analysis.ask.stored_tables import AskedRun, AskError, asked_run
from analysis.ask.views import RUNS, VIEWS
from analysis.frames import schema
from analysis.frames.history import files_frame
from analysis.remote.masters import started
from analysis.remote.shared_place import is_local
from analysis.spark.session import session
from analysis.stored.run_files import CheckError
from harness.history.tables import SMALL_TABLES, VALUE_COLUMNS
from harness.model.runs.run_folder import RunFolder, runs_below

if TYPE_CHECKING:
    import pandas as pd

Known = TypeVar("Known")
Files = Callable[[AskedRun], Sequence[Path]]
_KNOWN: Final = (("run_id", "string"), ("begin_ns", "int64"), ("untold", "list<string>"))
_OF_RUNS: Final = schema.of_columns(_KNOWN)
_TEXTS: Final = schema.of_columns(VALUE_COLUMNS)
_CALL_JAVA: Final = ("reflect", "java_method", "try_reflect")
_SETTINGS: Final = {
    "spark.sql.runSQLOnFiles": "false",
    **dict([TAKEN_AS_IT_IS]),
    "spark.sql.execution.arrow.pyspark.enabled": "true",  # to pandas
}


def _small(name: str) -> tuple[StructType, Files]:
    return schema.of_columns(SMALL_TABLES[name]), lambda run: run.small(name)


_STORED: Final[dict[str, tuple[StructType, Files]]] = {
    "operations": (schema.OPERATIONS, AskedRun.operations),
    "anomalies": (schema.EVIDENCE, AskedRun.anomalies),
    "windows": (schema.WINDOWS, AskedRun.windows),
    **{name: _small(name) for name in ("events", "faults", "views")},
}


class Asked:
    """Opened runs; `close`, or the end of a `with`, stops the Spark session that was started.

    `query`: one that will be asked; what is no query is refused before Spark is started here.
    Raises AskError, and Unreachable where no cluster answers for `master`."""

    def __init__(
        self, places: Sequence[Path], *, master: str | None = None, query: str | None = None
    ) -> None:
        self.left_out: list[str] = []  # sentences
        self._lenient: set[Path] = set()
        self.runs_asked = self._opened(places)
        self._stack = contextlib.ExitStack()
        operations = sum(run.seal.operations for run in self.runs_asked)
        first = None if query is None else partial(refuse, query)
        try:
            with _quiet():
                start = session(master, operations, first=first)
                spark = self._stack.enter_context(started(master, start))
        except CheckError as error:
            raise AskError(str(error)) from None
        self._spark = _of_its_own(spark)
        self._views: dict[str, DataFrame] = {}
        self._frames: dict[str, DataFrame] = {}

    def sql(self, query: str) -> DataFrame:
        """What a query over the views gives. Raises AskError."""
        with self.reasons():
            names = used_views(self._spark, query)
            columns = {column for name in names for column in self.view(name).columns}
            try:
                return self._spark.sql(query)
            except PySparkException as error:
                raise AskError(f"the query cannot be asked: {in_words(error, columns)}") from None

    def pandas(self, query: str) -> pd.DataFrame:
        """The same, as pandas has it. Raises AskError."""
        frame = self.sql(query)
        with self.reasons(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says what is raised, too
            found: pd.DataFrame = frame.toPandas()
            return found

    def view(self, name: str) -> DataFrame:
        """One of the views. Raises AskError."""
        if name not in VIEWS:
            raise AskError(f"no view {name!r}{near(name, VIEWS)}; there are {', '.join(VIEWS)}")
        if name not in self._views:
            view = VIEWS[name]
            made = view.made(
                self._with_texts(view.stored) if view.texts else self._stored(view.stored)
            )
            made.createOrReplaceTempView(name)
            self._views[name] = made
        return self._views[name]

    def __getattr__(self, name: str) -> DataFrame:
        """`runs.sends` is `runs.view("sends")`."""
        if name not in VIEWS:
            raise AttributeError(f"no view {name!r}{near(name, VIEWS)}")
        return self.view(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *VIEWS]

    def close(self) -> None:
        """Stop Spark, if it was started for this."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def reasons(self) -> Iterator[None]:
        """Inside the block, what Spark raises while it computes is an AskError."""
        with _quiet():
            try:
                yield
            except PySparkException as error:
                raise self._ask_error(error, in_words(error)) from None
            except Py4JError as error:
                raise self._ask_error(error, reason_in(str(error))) from None

    def _ask_error(self, error: Exception, words: str) -> AskError:
        """The error to raise instead."""
        if "FILE_NOT_EXIST" not in str(error) or is_local(self._spark):
            return AskError(f"the query cannot be answered: {words}")
        folders = [run.path for run in self.runs_asked]
        named = (folder for folder in folders if f"{folder}/" in str(error))
        return AskError(
            f"{next(named, folders[0])}: the executors of {self._spark.sparkContext.master} do not "
            "see this folder: put it where they see it under the same path, or ask without --master"
        )

    # What the views are made of

    def _opened(self, places: Sequence[Path]) -> list[AskedRun]:
        named = [place for place in places if RunFolder(path=place).recorded]
        for place in places:
            if place not in named:
                self._lenient.update(each.resolve() for each in runs_below(place))
        self._lenient -= {place.resolve() for place in named}
        paths = dict.fromkeys([*(each.resolve() for each in named), *sorted(self._lenient)])
        runs = [run for path in paths for run in self._each(path, partial(asked_run, path))]
        if not runs:
            why = f" ({self.left_out[0]})" if self.left_out else ""
            where = ", ".join(map(str, places)) or "nowhere"
            raise AskError(f"{where}: no run there that can be asked{why}: give folders of runs")
        by_id: dict[str, AskedRun] = {}
        for run in runs:
            other = by_id.setdefault(run.run_id, run)
            if other is not run:
                raise AskError(
                    f"{run.path} and {other.path} are the same run {run.run_id}: ask one of them"
                )
        return runs

    def _each(self, path: Path, read: Callable[[], Known]) -> list[Known]:
        """What is read of a run; of one that nobody named nothing, if it cannot be."""
        try:
            return [read()]
        except AskError as error:
            if path not in self._lenient:
                raise
            if str(error) not in self.left_out:
                self.left_out.append(str(error))
            return []

    def _stored(self, name: str) -> DataFrame:
        """A stored table of all runs, each row with what is known of its run (`_KNOWN`)."""
        if name not in self._frames:
            every = self.runs_asked
            self._frames[name] = self._runs() if name == "runs" else self._scanned(name, every)
        return self._frames[name]

    def _with_texts(self, name: str) -> DataFrame:
        """The same with `text`, the text of each value; only the rows of runs that have texts are
        looked up."""
        have = [run for run in self.runs_asked if run.has_texts]
        if not have:
            return self._stored(name).withColumn("text", F.lit(None).cast("string"))
        files = [
            str(file) for run in have for found in self._each(run.path, run.texts) for file in found
        ]
        texts = files_frame(self._spark, _TEXTS, files) if files else _rows(self._spark, [], _TEXTS)
        told = self._scanned(name, have).join(texts, on=["run_id", "value"], how="left")
        others = [run for run in self.runs_asked if not run.has_texts]
        if not others:
            return told
        own = self._scanned(name, others).withColumn("text", F.lit(None).cast("string"))
        return own.unionByName(told)

    def _scanned(self, name: str, runs: Sequence[AskedRun]) -> DataFrame:
        columns, files_of = _STORED[name]
        files: list[str] = []
        known: list[dict[str, Any]] = []
        for run in runs:
            for found, row in self._each(run.path, partial(_found, run, files_of)):
                files += map(str, found)
                known.append(row)
        if not files:
            nothing = StructType([*columns.fields, *_OF_RUNS.fields[1:]])
            return _rows(self._spark, [], nothing)
        frame = files_frame(self._spark, columns, files)
        if len(known) == 1:
            untold = F.array(*map(F.lit, known[0]["untold"])).cast("array<string>")
            begin_ns = F.lit(known[0]["begin_ns"]).cast("bigint")
            return frame.withColumns({"begin_ns": begin_ns, "untold": untold})
        of_runs = F.broadcast(_rows(self._spark, known, _OF_RUNS))
        return frame.join(of_runs, on="run_id", how="inner")

    def _runs(self) -> DataFrame:
        rows = [row for run in self.runs_asked for row in self._each(run.path, run.row)]
        return _rows(self._spark, rows, schema.of_columns(RUNS))


def _found(run: AskedRun, files_of: Files) -> tuple[Sequence[Path], dict[str, Any]]:
    """A run's files, and what is known of it."""
    known = {"run_id": run.run_id, "begin_ns": run.load_ns[0], "untold": run.untold}
    return files_of(run), known


def _rows(spark: SparkSession, rows: Sequence[dict[str, Any]], kind: StructType) -> DataFrame:
    """Rows as a table, through one JSON text: so no Python worker has to start."""
    parsed = F.from_json(F.lit(json.dumps(rows)), ArrayType(kind))
    return spark.range(1).select(F.inline(parsed))


def _of_its_own(started: SparkSession) -> SparkSession:
    """A session of the same Spark with views and settings of its own, in which SQL only asks."""
    spark = started.newSession()
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    java: Any = spark._jvm
    registry = spark._jsparkSession.sessionState().functionRegistry()
    builtin, system = (java.scala.Some(part) for part in ("builtin", "system"))
    for name in _CALL_JAVA:
        identifier = java.org.apache.spark.sql.catalyst.FunctionIdentifier(name, builtin, system)
        registry.dropFunction(identifier)
    return spark


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what PySpark logs of each error that it raises."""
    logger = logging.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
