"""Tells runs that are named by a URI, in a store that Spark reaches, from folders on this machine.

hdfs://namenode:8020/results/study-1/20261121T021500Z-7     a run in a store
s3a://bucket/results/study-1/20261121T021500Z-7             the same
file:///srv/results/study-1/20261121T021500Z-7              the folder of that path
results/study-1/20261121T021500Z-7                          a folder
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def is_uri(name: str) -> bool:
    """Whether it names a place in a store."""
    match = _URI.match(name)
    return match is not None and match[1].lower() != "file"


def as_path(name: str) -> str:
    """The path of a `file:` URI; anything else unchanged."""
    match = _URI.match(name)
    if match is None or match[1].lower() != "file":
        return name
    return unquote(urlsplit(name).path)
