"""Columns of Arrow tables as numpy has them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]


def whole_numbers(table: pa.Table, name: str) -> Numbers:
    """A column of whole numbers, -1 for null."""
    filled: Numbers = pc.fill_null(table[name].cast(pa.int64()), -1).to_numpy()
    return filled
