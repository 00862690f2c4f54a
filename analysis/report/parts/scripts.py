"""The scripts of a page: ours, plotly's inside it, and the policy that permits no others."""

from __future__ import annotations

import gzip
from base64 import b64encode
from functools import cache
from hashlib import sha256

from plotly.offline import get_plotlyjs

from analysis.report.parts.templates import TEMPLATES


@cache
def ours() -> str:
    """What draws the picture, and unpacks plotly for it."""
    return (TEMPLATES / "page.js").read_text(encoding="utf-8")


@cache
def packed_plotly() -> str:
    """plotly.js, gzip in base64: 41 % of its size."""
    return b64encode(gzip.compress(get_plotlyjs().encode(), compresslevel=9, mtime=0)).decode()


@cache
def policy() -> str:
    """No request at all, and no script but ours and plotly's, by their hashes."""
    digests = (
        b64encode(sha256(text.encode()).digest()).decode() for text in (ours(), get_plotlyjs())
    )
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
