"""Where Spark leaves evidence: on the disk that it shares with us, or in a store.

    address     what Spark calls it
    folder      what we call it, once it is here

Executors of a cluster may write to a disk that is not ours: Spark would say that all is well, no
row would be found, and a history with losses would pass. So Spark counts the rows that it writes
(an observed metric, no query of its own), and as many have to be found, or there is no verdict.

For the same reason a folder is checked by a cluster only if its executors see, under the same path,
files that were written a moment ago.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, DataFrameWriter, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.elsewhere.store import Store
from analysis.elsewhere.trouble import TROUBLE
from analysis.stored.run_files import CheckError

_MOST_LOOKS = 64
_REMEDY = "put the run into a store that both reach, and give its URI (hdfs://…, s3a://…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePlace:
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

    def write(self, rows: DataFrame, partitioned_by: Sequence[str]) -> None:
        """Have Spark write rows, and bring them here. Raises CheckError where they are not all."""
        if self.shared:
            self._writer(rows, partitioned_by).parquet(self.address)
            return
        written = Observation()
        counted = rows.observe(written, F.count(F.lit(1)).alias("rows"))
        self._writer(counted, partitioned_by).parquet(self.address)
        if self.store is not None:
            self.store.fetch(self._name, self.folder)
        found = ds.dataset(self.folder, format="parquet").count_rows() if self._is_there else 0
        if found != written.get["rows"]:
            raise CheckError(
                f"{self.address}: Spark's executors wrote {written.get['rows']:,} rows of evidence "
                f"there, and {found:,} are found: they write to another disk; {_REMEDY}"
            )

    def keep(self, evidence: Iterable[tuple[int, pa.Table]]) -> None:
        """The same of rows that are here, some of a run at a time, whose number is told; in the
        folders that Spark would name."""
        with ExitStack() as stack:
            writers: dict[tuple[int, str], pq.ParquetWriter] = {}
            for number, rows in evidence:
                for anomaly in pc.unique(rows["anomaly"]).to_pylist():
                    if (number, anomaly) not in writers:
                        folder = self.folder / f"of_run={number}" / f"of_anomaly={anomaly}"
                        folder.mkdir(parents=True)
                        writer = pq.ParquetWriter(
                            folder / "part-0.parquet", rows.schema, compression="zstd"
                        )
                        writers[number, anomaly] = stack.enter_context(writer)
                    mine = rows.filter(pc.equal(rows["anomaly"], anomaly))
                    writers[number, anomaly].write_table(mine)

    @property
    def _is_there(self) -> bool:
        return self.folder.is_dir()

    @staticmethod
    def _writer(rows: DataFrame, partitioned_by: Sequence[str]) -> DataFrameWriter:
        return rows.write.partitionBy(*partitioned_by).option("compression", "zstd")

    def clear(self) -> None:
        """Remove what Spark has of it elsewhere; the folder is its maker's."""
        if self.store is not None:
            self.store.remove(self._name)


def is_local(spark: SparkSession) -> bool:
    """Whether Spark computes in its driver's own process."""
    return str(spark.sparkContext.master).split("[", 1)[0] == "local"


def require_shared(spark: SparkSession, folders: Sequence[Path]) -> None:
    """Raise CheckError unless executors see what was just written into these folders.

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
            there = spark.read.option("__globPaths__", "false").text(files).count() == len(files)
        except TROUBLE as error:
            if not any(words in str(error) for words in ("FILE_NOT_EXIST", "does not exist")):
                raise
            there = False
    if not there:
        raise CheckError(
            f"{folders[0]}: the executors of {spark.sparkContext.master} do not see this folder: "
            f"{_REMEDY}"
        )
