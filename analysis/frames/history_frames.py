"""The runs of one check as DataFrames, and which kinds of rows they have at all.

analysis.frames.history makes them of stored runs, analysis.tables of two tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType

from analysis.frames import schema


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All runs of one check, for Spark."""

    operations: DataFrame  # schema.OPERATIONS
    runs: DataFrame  # schema.RUNS
    groups: bool = False  # whether any of them has a consumer group
    transforms: bool = False  # whether its members send an output for each input
    outputs: bool = False  # whether programs of any make outputs
    outdated: bool = False  # whether any member kept an older generation than others were given
    shared: bool = False  # whether any partition had two owners in one generation
    unowned: bool = False  # whether any partition had no owner in a generation that lasted
    metadata_back: bool = False  # whether committed metadata of any partition went back
    contested: bool = True  # whether two values, or one that is none, may claim one place
    hanging: bool = True  # whether any last stable offset stands
    replicas: bool = False  # whether the replicas of any were compared
    compacted: bool = False  # whether later records supersede others in any
    circular: bool = False  # whether transactions of any read from each other in a cycle
    transactions: DataFrame | None = None  # schema.TRANSACTIONS; None: not recorded
    watermarks: DataFrame | None = None  # schema.WATERMARKS; None: not sampled


def runs_frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Rows of schema.RUNS as a table, through one JSON text: so no Python worker has to start."""
    parsed = F.from_json(F.lit(json.dumps(rows)), ArrayType(schema.RUNS))
    return spark.range(1).select(F.inline(parsed))
