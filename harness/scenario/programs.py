"""What is impossible about `[[programs]]`, `[outputs]` and records of the user's own, each with its
remedy; and the files that they name, by their content."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path

from harness.model.scenario import Scenario, WorkloadPart
from harness.model.sections.programs import OutputsPart
from harness.model.worker_kinds import KINDS
from harness.nemesis.targets import TARGETS

VALUE = "$value"
PYTHON = "{python}"
_OURS = {*KINDS, *TARGETS, "zk", "kafka", "clients", "final-read", "output-reader"}


def program_problems(scenario: Scenario) -> Iterator[str]:
    """Everything impossible about them."""
    yield from _text_problems(scenario.workload)
    names = [program.name for program in scenario.programs]
    for number, program in enumerate(scenario.programs):
        where = f"programs.{number}"
        if program.name in _OURS:
            yield f"{where}.name: {program.name} is a name of the harness's own: choose another"
        elif program.name in names[:number]:
            yield f"{where}.name: {program.name} is there twice: choose another, or raise its count"
        if program.command[0] != PYTHON and shutil.which(program.command[0]) is None:
            yield (
                f"{where}.command: {program.command[0]}: no such program here: give its path, or a "
                "name on PATH"
            )
    if scenario.programs and _aborts(scenario.workload):
        yield (
            "workload.transaction_abort_every and transaction_abort_share: beside [[programs]] "
            "each record is an input that must come: set them to 0"
        )
    yield from _output_problems(scenario)


def _aborts(work: WorkloadPart) -> bool:
    return bool(work.transaction_abort_every or work.transaction_abort_share)


def _text_problems(work: WorkloadPart) -> Iterator[str]:
    """Of workload.record and what belongs to it."""
    if not work.has_texts:
        for key in ("key", "headers"):
            if getattr(work, key):
                yield f"workload.{key}: it belongs to workload.record: set that, or remove it"
        return
    if work.record and work.record_file:
        yield "workload.record and workload.record_file: remove one of them"
        return
    if work.kind != "stream" or work.transformers:
        who = "workload.transformers" if work.transformers else f'kind = "{work.kind}"'
        yield f"workload.record: {who} knows the harness's own records alone: remove one of them"
    for key in ("keys", "tombstones", "value_bytes"):
        if key in work.model_fields_set and getattr(work, key) != _default(key):
            yield f"workload.{key} does nothing beside workload.record: remove it"
    yield from _texts(work)


def _default(key: str) -> object:
    return WorkloadPart.model_fields[key].default


def _texts(work: WorkloadPart) -> Iterator[str]:
    where = "workload.record"
    lines = [work.record]
    if work.record_file:
        where = f"workload.record_file: {work.record_file}"
        try:
            lines = Path(work.record_file).read_text().splitlines()
        except (OSError, ValueError) as error:
            yield f"{where}: cannot be read: {getattr(error, 'strerror', error)}"
            return
        if not lines:
            yield f"{where}: it is empty: write a record a line"
    for number, line in enumerate(lines, 1):
        if (times := line.count(VALUE)) != 1:
            at = f", line {number}" if work.record_file else ""
            yield f"{where}{at}: {VALUE} is there {times} times: write it once, where its number is"
            return


def _output_problems(scenario: Scenario) -> Iterator[str]:
    outputs = scenario.outputs
    if outputs is None:
        return
    if not scenario.programs:
        yield "outputs: nobody makes any: add [[programs]], or remove this section"
    if bool(outputs.topic) == bool(outputs.command):
        yield "outputs: set one of outputs.topic and outputs.command"
    if scenario.workload.transformers:
        yield (
            "outputs: workload.transformers make outputs of their own into the same topic: remove "
            "one of them"
        )
    yield from _of_topic(scenario, outputs) if outputs.topic else _of_command(scenario, outputs)


def _of_topic(scenario: Scenario, outputs: OutputsPart) -> Iterator[str]:
    if not outputs.id:
        yield 'outputs.id is missing: write where an output has its input\'s $value: "json:/FIELD"'
    if outputs.topic == scenario.topic.name:
        yield "outputs.topic is topic.name: outputs into the inputs' topic cannot be told apart"
    if not outputs.group and "no-output" in scenario.expect:
        yield (
            "outputs.group is missing: expect.no-output asks how far the programs have read the "
            "inputs, which their consumer group tells"
        )
    if str(outputs.config.get("cleanup.policy", "delete")) != "delete":
        yield (
            'outputs.config."cleanup.policy": a compacted topic does not keep every output: remove '
            "it"
        )


def _of_command(scenario: Scenario, outputs: OutputsPart) -> Iterator[str]:
    if outputs.id:
        yield "outputs.id does nothing with outputs.command, whose lines are the ids: remove it"
    program = outputs.command[0] if outputs.command else PYTHON
    if program != PYTHON and shutil.which(program) is None:
        yield f"outputs.command: {program}: no such program here: give its path"
    for name in ("output-gap-s", "through-p99-ms"):
        if name in scenario.expect:
            yield f"expect.{name}: a command does not tell when outputs came: set outputs.topic"


def files_of(scenario: Scenario) -> dict[str, str]:
    """The files that commands, and workload.record_file, name, each with the SHA-256 of its
    content; not a program that is found elsewhere."""
    words = [word for program in scenario.programs for word in program.command]
    words += scenario.outputs.command if scenario.outputs else ()
    words.append(scenario.workload.record_file)
    here = (Path(word) for word in words if word and not Path(word).is_absolute())
    found = {}
    for path in here:
        if path.is_file():
            with path.open("rb") as file:
                found[str(path)] = file_digest(file, "sha256").hexdigest()
    return found
