"""What is impossible about programs, outputs and records of the user's own, and the digest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.model.runs.configuration import digest_of
from harness.model.scenario import Scenario, WorkloadPart
from harness.model.sections.programs import each_of
from harness.scenario.programs import files_of, program_problems
from tests.support.recorded_runs import run_record

SCENARIO = Scenario(title="A test", workload=WorkloadPart(kind="stream"))
PAY = {"name": "pay", "command": ["sh", "app.sh"]}
OUT = {"topic": "paid", "id": "json:/id", "group": "pay"}
TEXT = {"kind": "stream", "record": "$value"}


def problems(work: dict[str, Any] | None = None, **sections: Any) -> list[str]:
    tables = SCENARIO.model_dump(mode="python")
    tables["workload"] |= work or {}
    programs = tuple(sections.pop("programs", ()))
    return list(
        program_problems(Scenario.model_validate({**tables, "programs": programs, **sections}))
    )


def test_a_whole_one() -> None:
    assert problems(TEXT, programs=[PAY], outputs=OUT) == []


@pytest.mark.parametrize(
    ("work", "sections", "words"),
    [
        ({}, {"programs": [PAY, PAY]}, "pay is there twice"),
        ({}, {"programs": [{**PAY, "name": "producer"}]}, "a name of the harness's own"),
        ({}, {"programs": [{**PAY, "name": "kafka"}]}, "a name of the harness's own"),
        ({}, {"programs": [{**PAY, "command": ["no-such"]}]}, "no-such: no such program"),
        ({}, {"outputs": OUT}, "nobody makes any"),
        ({}, {"programs": [PAY], "outputs": {**OUT, "topic": ""}}, "set one of outputs.topic"),
        ({}, {"programs": [PAY], "outputs": {**OUT, "id": ""}}, "outputs.id is missing"),
        ({}, {"programs": [PAY], "outputs": {**OUT, "topic": "harness"}}, "cannot be told apart"),
        (
            {},
            {"programs": [PAY], "outputs": {**OUT, "group": ""}, "expect": {"no-output": "0"}},
            "outputs.group is missing",
        ),
        (
            {},
            {"programs": [PAY], "outputs": {**OUT, "config": {"cleanup.policy": "compact"}}},
            "does not keep every output",
        ),
        (
            {},
            {"programs": [PAY], "outputs": {"command": ("no-such",)}},
            "outputs.command: no-such: no such program",
        ),
        ({"transformers": 1}, {"programs": [PAY], "outputs": OUT}, "workload.transformers"),
        ({"transaction_abort_every": 5}, {"programs": [PAY]}, "an input that must come"),
        ({"record": "$value", "record_file": "x"}, {}, "remove one of them"),
        ({"record": "x"}, {}, "$value is there 0 times"),
        ({"record": "$value $value"}, {}, "$value is there 2 times"),
        ({"record_file": "/no/such"}, {}, "cannot be read"),
        ({"record": "$value", "kind": "write-read"}, {}, "knows the harness's own records"),
        ({"record": "$value", "keys": 5}, {}, "workload.keys does nothing"),
        ({"key": "$value"}, {}, "it belongs to workload.record"),
    ],
)
def test_refused(work: dict[str, Any], sections: dict[str, Any], words: str) -> None:
    assert any(words in problem for problem in problems({"kind": "stream", **work}, **sections))


@pytest.mark.parametrize(
    "outputs", [[OUT, OUT], {**OUT, "topic": ["paid", "audit"]}, {**OUT, "id": ["key", "json:/b"]}]
)
def test_outputs_in_several_topics_or_of_several_inputs_are_not_judged(outputs: Any) -> None:
    with pytest.raises(ValueError, match="name one: outputs in several topics, and those of"):
        problems(TEXT, programs=[PAY], outputs=outputs)


def test_the_line_without_a_value_is_named(tmp_path: Path) -> None:
    file = tmp_path / "orders"
    file.write_text("$value\nnothing\n")

    (problem,) = problems({"kind": "stream", "record_file": str(file)})

    assert f"{file}, line 2" in problem


@pytest.mark.parametrize(
    ("text", "bounds"),
    [("1", (1, 1)), ("0..1", (0, 1)), ("1..", (1, None)), ("2..3", (2, 3))],
)
def test_each(text: str, bounds: tuple[int, int | None]) -> None:
    assert each_of(text) == bounds


@pytest.mark.parametrize("text", ["", "one", "3..2", "..1", "-1"])
def test_no_each(text: str) -> None:
    with pytest.raises(ValueError, match=r"0\.\.1"):
        each_of(text)


def test_files_that_commands_name_count_by_their_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def digest(words: list[str], content: str) -> str:
        Path(words[-1]).write_text(content)
        tables = SCENARIO.model_dump(mode="python")
        made = Scenario.model_validate({**tables, "programs": ({**PAY, "command": words},)})
        return digest_of(run_record(scenario=made.model_dump(mode="json"), files=files_of(made)))

    one = digest(["sh", "app.sh"], "echo 1")

    assert digest(["sh", "other.sh"], "echo 1") == one
    assert digest(["/bin/sh", "app.sh"], "echo 1") == one  # whose sh it is
    assert digest(["sh", "app.sh"], "echo 2") != one
