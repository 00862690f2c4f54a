"""README.md's commands: those that need no cluster are carried out, of runs and clusters what they
would have is shown, and of the rest the reason stands here."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.checkout import ROOT
from tests.support.commands import called
from tests.support.needs import needs

README = (ROOT / "README.md").read_text()
BLOCKS = re.compile(r"^```\n(.*?)^```", re.MULTILINE | re.DOTALL)
CANNOT_RUN = {
    "check results/study-1/latest": "a run has to be there: tests/live/local has it",
    "check hdfs://nn:8020/runs/2026-7 --master spark://host:7077": "a store and a Spark of yours",
    "setup": "it installs system packages",
}
# Options of `run` that `show` has not, with as many words behind them.
OF_RUNS_ALONE = {"--repeat": 1, "--kafka-home": 1, "--results": 1}
FILES = {
    "application.yml": "spring: {kafka: {producer: {acks: all}}}\n",
    "server.properties": "num.io.threads=4\n",
}


def commands(program: str) -> list[list[str]]:
    """The words of each command line of that program, without it and without comments."""
    lines = "".join(BLOCKS.findall(README)).replace("\\\n", " ").splitlines()
    split = (shlex.split(line, comments=True) for line in lines if line.startswith(f"{program} "))
    return [words[1:] for words in split]


def shown(words: list[str]) -> Iterator[list[str]]:
    """What `show` is asked in place of a run: each cell of a matrix."""
    axes: list[list[str]] = []
    rest: list[str] = []
    left = iter(words)
    for word in left:
        if word == "--":
            break
        if word == "--matrix":
            key, _, values = next(left).partition("=")
            axes.append([f"{key}={value}" for value in values.split(",")])
        elif word in OF_RUNS_ALONE:
            [next(left) for _ in range(OF_RUNS_ALONE[word])]
        else:
            rest.append(word)
    for cell in itertools.product(*axes):
        yield ["show", *rest, *(part for each in cell for part in ("--set", each))]


def test_what_the_readme_says_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("kafka")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    said = [words for words in commands("kafka-harness") if " ".join(words) not in CANNOT_RUN]

    assert {"run", "show", "up", "new", "scenarios"} <= {words[0] for words in said}
    for words in said:
        for asked in shown(words[1:]) if words[0] in ("run", "up") else [words]:
            done = called(*asked)
            assert done.code == 0, f"{shlex.join(words)}: {shlex.join(asked)}: {done.err}"


def test_what_it_says_of_make_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert {words[0] for words in commands("make")} <= targets
    assert CANNOT_RUN.keys() <= {" ".join(words) for words in commands("kafka-harness")}
