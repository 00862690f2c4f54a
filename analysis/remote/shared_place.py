"""A folder through which the driver and Spark's executors exchange rows: on a disk that both reach,
or in a store.

    place.give(spark, columns, tables)    rows of the driver, as a DataFrame
    place.take(rows)                      rows of Spark, in batches

Few rows travel in a plan and in its answer. Many are a file below `address`, which the driver sees
at `folder`. Executors of a cluster may write to another disk: Spark would report success, the
driver would find no row, and a history with losses would pass. So Spark counts the rows that it
writes (an observed metric, no query of its own), and without as many rows there is no verdict.

For the same reason a cluster checks a folder only if its executors see, under the same path, files
that the driver has just written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from analysis.frames.history import files_frame
from analysis.remote.store import Store
from analysis.remote.trouble import TROUBLE
from analysis.stored.run_files import CheckError

FEW = 10_000  # rows that a plan has: some 2 MB
_ROWS = 1 << 16  # that are taken at a time
_BLOCK = 1 << 24  # bytes in which Spark writes them
_FOUND = "found"
_MOST_LOOKS = 64
_REMEDY = "put the run into a store that both reach, and give its URI (hdfs://…, s3a://…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPlace:
    """A folder that does not exist yet."""

    folder: Path
    store: Store | None = None  # where Spark has it; None: it is the folder itself
    shared: bool = True  # whether Spark works in this process's own JVM, on this disk

    @property
    def address(self) -> str:
        """The folder, for Spark."""
        return str(self.folder) if self.store is None else f"{self.store.uri}/{self._name}"

    @property
    def _name(self) -> str:
        return f".check-{self.store.token}" if self.store else self.folder.name

    def give(
        self,
        spark: SparkSession,
        columns: StructType,
        tables: Iterable[pa.Table],
        *,
        rows: int,
    ) -> DataFrame:
        """These tables as a DataFrame; `rows`: the number of all their rows."""
        if rows <= FEW:
            # One batch: Spark 4.3 reads no row after a batch without any (ArrowConverters).
            table = pa.concat_tables(tables).combine_chunks()
            return spark.createDataFrame(table, columns)
        self.folder.mkdir(exist_ok=True)
        name = f"given-{len(list(self.folder.iterdir()))}.parquet"
        with ExitStack() as stack:
            writer: pq.ParquetWriter | None = None
            for table in tables:
                writer = writer or stack.enter_context(
                    pq.ParquetWriter(self.folder / name, table.schema, compression="zstd")
                )
                writer.write_table(table)
        if self.store is not None:
            self.store.add(self.folder / name, f"{self._name}/{name}")
        return files_frame(spark, columns, [f"{self.address}/{name}"])

    def take(self, rows: DataFrame, *, few: bool) -> Iterator[pa.Table]:
        """These rows. `few`: they fit into memory at once. Raises CheckError if some of the written
        rows are missing."""
        if few:
            table = rows.toArrow()
            return iter([table] if table.num_rows else [])
        return self._taken(rows)

    def _taken(self, rows: DataFrame) -> Iterator[pa.Table]:
        written = Observation()
        counted = rows if self.shared else rows.observe(written, F.count(F.lit(1)).alias("rows"))
        # Row groups of some hundred thousand rows, not of a million: a reader holds a whole one.
        small = counted.write.option("parquet.block.size", _BLOCK)
        small.parquet(f"{self.address}/{_FOUND}", compression="lz4")
        here = self.folder / _FOUND
        if self.store is not None:
            self.store.fetch(f"{self._name}/{_FOUND}", here)
        if not self.shared:
            self._require(
                ds.dataset(here, format="parquet").count_rows() if here.is_dir() else 0,
                written.get["rows"],
            )
        yield from _batches(here)

    def _require(self, found: int, written: int) -> None:
        if found != written:
            raise CheckError(
                f"{self.address}: Spark's executors wrote {written:,} rows of evidence there, and "
                f"{found:,} are found: they write to another disk; {_REMEDY}"
            )

    def clear(self) -> None:
        """Remove the part in the store; the caller removes the folder."""
        if self.store is not None:
            self.store.remove(self._name)


def _batches(folder: Path) -> Iterator[pa.Table]:
    rows = ds.dataset(folder, format="parquet")
    # One batch ahead: by itself Arrow reads sixteen of each of four files, before any is asked for.
    for batch in rows.to_batches(batch_size=_ROWS, batch_readahead=1, fragment_readahead=1):
        if batch.num_rows:
            yield pa.Table.from_batches([batch])
        pa.default_memory_pool().release_unused()  # half a GiB, of ten million operations


def is_local(spark: SparkSession) -> bool:
    """Whether Spark computes in its driver's own process."""
    return str(spark.sparkContext.master).split("[", 1)[0] == "local"


def require_shared(spark: SparkSession, folders: Sequence[Path]) -> None:
    """Raise CheckError unless executors see new files in these folders.

    Each file is a task of its own, so that every executor gets some of them.
    """
    looks = min(_MOST_LOOKS, 2 * spark.sparkContext.defaultParallelism)
    with ExitStack() as stack:
        files = []
        for folder in folders:
            seen = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix=".check-", dir=folder))
            )
            seen.chmod(0o755)  # executors may be another user's
            for number in range(looks):
                (seen / f"{number}.txt").write_text(f"{number}\n")
                files.append(str(seen / f"{number}.txt"))
        try:
            visible = spark.read.option("__globPaths__", "false").text(files).count() == len(files)
        except TROUBLE as error:
            if not any(words in str(error) for words in ("FILE_NOT_EXIST", "does not exist")):
                raise
            visible = False
    if not visible:
        raise CheckError(
            f"{folders[0]}: the executors of {spark.sparkContext.master} do not see this folder: "
            f"{_REMEDY}"
        )
