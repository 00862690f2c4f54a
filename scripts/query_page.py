"""docs/queries.md with the answers that its questions have now.

    python -m scripts.query_page

Each block of SQL is asked over `SAMPLE`, or over the run that the line "Of `…`:" before it names,
and the table that `kafka-harness sql` prints stands in the block behind it.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from analysis.ask.asked import Asked
from harness.checkout import DOCS, ROOT
from harness.commands.look_at.sql import print_answer

PAGE = DOCS / "queries.md"
SAMPLE = "docs/sample/study-1"
QUESTION = re.compile(
    r"(?:Of `(?P<run>[^`]+)`:\n\n)?```sql\n(?P<query>.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL
)


def queries(page: str) -> list[tuple[str, str]]:
    """Each query with its run."""
    return [(found["run"] or SAMPLE, found["query"]) for found in QUESTION.finditer(page)]


def answered(page: str) -> str:
    """The page with the answers of now."""
    asked: dict[str, Asked] = {}

    def with_answer(found: re.Match[str]) -> str:
        run = found["run"] or SAMPLE
        if run not in asked:
            asked[run] = Asked([ROOT / run])
        of = f"Of `{run}`:\n\n" if found["run"] else ""
        answer = as_table(asked[run], found["query"])
        return f"{of}```sql\n{found['query']}```\n\n```text\n{answer}```\n"

    try:
        return QUESTION.sub(with_answer, page)
    finally:
        for each in reversed(asked.values()):
            each.close()


def as_table(asked: Asked, query: str) -> str:
    """An answer as the command prints it where there is no terminal."""
    shown = io.StringIO()
    print_answer(asked.sql(query), 0, Console(file=shown, width=10_000, highlight=False))
    return shown.getvalue()


def write(page: Path = PAGE) -> None:
    """Replace the page's answers."""
    page.write_text(answered(page.read_text()))


if __name__ == "__main__":
    write()
