"""What a page shows beside its report: drawn sends, lag and links, as the check hands them over."""

from analysis.report.page import More
from analysis.report.parts.run_files import Group, Link


def more(reader: str = "consumer-0", name: str = "kafka1.log") -> More:
    """A send of each type, a reader that lags, and links to logs, of which four are left out."""
    link = Link(href="logs/kafka1.log", name=name)
    return More(
        sends=[
            {"due_s": float(at), "ms": 2.0 + at, "type": kind}
            for at, kind in enumerate(("ok", "fail", "info"), start=1)
        ],
        lag=[{"t_s": float(at), "lag": {reader: 3 * at}} for at in (5, 10)],
        files=[Group(title="Logs", folder="logs", links=[link], more=4)],
    )
