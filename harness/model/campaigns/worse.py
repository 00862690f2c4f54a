"""Default limits beyond which tonight's runs count as worse than those of the nights before."""

from __future__ import annotations

from typing import Final

GAP_FACTOR: Final = 1.5  # of the medians of calm runs' longest gaps, beside a rank test
