"""Links to a run's own files: relative, quoted, and to nothing that a browser would run."""

from __future__ import annotations

import os
from pathlib import Path

from analysis.report.parts.run_files import MOST, address, run_files

ODD = 'a b#1?x="<b>&%2e.log'


def filled(run: Path, *names: str) -> Path:
    for name in names:
        file = run / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    return run


def hrefs(run: Path) -> list[str]:
    return [link.href for group in run_files(run) for link in group.links]


def test_logs_history_and_evidence_are_linked_in_groups(tmp_path: Path) -> None:
    run = filled(
        tmp_path,
        "logs/kafka1.log",
        "history/nemesis.jsonl",
        "history/operations/producer-0.parquet",
        "analysis/lost.parquet/part-00000.parquet",
    )

    groups = {group.title: [link.href for link in group.links] for group in run_files(run)}

    assert groups == {
        "Logs": ["logs/kafka1.log"],
        "History": ["history/nemesis.jsonl"],
        "Operations": ["history/operations/producer-0.parquet"],
        "Evidence and tables": ["analysis/lost.parquet"],
    }


def test_a_run_without_files_has_no_links(tmp_path: Path) -> None:
    assert run_files(tmp_path) == []


def test_a_name_is_quoted_in_the_address_and_shown_as_it_is(tmp_path: Path) -> None:
    [group] = run_files(filled(tmp_path, f"logs/{ODD}"))

    assert group.links[0].href == "logs/a%20b%231%3Fx%3D%22%3Cb%3E%26%252e.log"
    assert group.links[0].name == ODD


def test_a_name_that_would_be_an_address_stays_a_name() -> None:
    assert address("javascript:alert(1)") == "javascript%3Aalert%281%29"
    assert address("..", "/x.invalid/") == "../%2Fx.invalid%2F"


def test_bytes_that_are_no_text_are_linked_too(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.log")
    [group] = run_files(filled(tmp_path, f"logs/{name}"))

    assert (group.links[0].href, group.links[0].name) == ("logs/%FF.log", "\ufffd.log")


def test_what_a_browser_would_run_is_not_linked(tmp_path: Path) -> None:
    names = ("a.html", "a.svg", "a.xml", "a.xhtml", "a", "a.js", "a.mhtml", "b.log")

    assert hrefs(filled(tmp_path, *(f"logs/{name}" for name in names))) == ["logs/b.log"]


def test_a_link_of_the_file_system_and_a_pipe_are_not_followed(tmp_path: Path) -> None:
    filled(tmp_path, "secret.txt")
    run = filled(tmp_path / "run", "logs/mine.log")
    (run / "logs" / "out.log").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(run / "logs" / "pipe.log")
    (run / "history").symlink_to(run / "logs")
    (run / "analysis").mkdir()
    (run / "analysis" / "lost.parquet").symlink_to(tmp_path)

    assert hrefs(run) == ["logs/mine.log"]


def test_of_too_many_files_the_first_are_linked_and_the_others_counted(tmp_path: Path) -> None:
    names = (f"logs/{number:03d}.log" for number in range(MOST + 5))
    [group] = run_files(filled(tmp_path, *names))

    assert (len(group.links), group.more) == (MOST, 5)
