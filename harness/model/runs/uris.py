"""Runs that are named by a URI: they lie in a store that Spark reaches, not in a folder of here.

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
    found = _URI.match(name)
    return found is not None and found[1].lower() != "file"


def as_path(name: str) -> str:
    """The path of a `file:` URI; anything else as it is."""
    found = _URI.match(name)
    if found is None or found[1].lower() != "file":
        return name
    return unquote(urlsplit(name).path)
