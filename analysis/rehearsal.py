"""A made-up run, checked in a session that has nothing to do yet: what the next check needs is
loaded then. A check that is interrupted by the one that matters (analysis.spark.ahead) raises.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.job import check
from analysis.train_archive import training_run


def rehearse(spark: SparkSession, scratch: Path) -> None:
    """Check it, in a folder below `scratch` that is removed."""
    with tempfile.TemporaryDirectory(prefix=".rehearsal-", dir=scratch) as folder:
        check([training_run(Path(folder))], started=spark)
