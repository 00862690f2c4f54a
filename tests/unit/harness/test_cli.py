"""The command line: bad input is one sentence with the remedy, exit code 254, nothing started."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import release
from harness.checkout import ROOT
from harness.host import system_packages
from harness.model.exit_codes import worst
from harness.nemesis.undo_record import Undo
from tests.support.commands import COMMAND, Ran, called
from tests.support.needs import needs

GOLDEN = ROOT / "tests" / "golden"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A recorded run that was not checked yet."""
    return shutil.copytree(GOLDEN / "leader-stopped", tmp_path / "run")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands are called in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def started(*arguments: str) -> Ran:
    """The command as a process of its own."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
    return Ran(code=done.returncode, out=done.stdout, err=done.stderr, folder=None)


def test_the_help_names_every_command_and_every_exit_code():
    said = started("--help").out

    for word in (
        "run",
        "check",
        "report",
        "history",
        "export",
        "sql",
        "scenarios",
        "show",
        "doctor",
        "up",
        "campaign",
        "heal",
        "new",
        "schema",
        "setup",
        "image",
        "harness-image",
        "index",
        "254",
        "255",
    ):
        assert word in said


def test_the_scenarios_are_listed_with_what_they_show():
    said = called("scenarios").out

    assert "study-1" in said
    assert "acks=1" in said


def test_show_prints_plan_and_configuration_and_starts_nothing(here):
    done = called("show", "study-1", "--seed", "5", "--set", "faults.0.times=2")

    assert done.code == 0
    assert "step 1: kill leader after 1,500 rounds, until leadership moved" in done.out
    assert '"acks": "1"' in done.out
    assert list(here.iterdir()) == []


def test_what_new_writes_can_be_shown_and_schema_prints_what_lies_beside_it(here):
    assert called("new", "what-if").code == 0

    shown = called("show", "what-if.toml")
    schema = called("schema")

    assert "step 0: kill leader at 4 s, until leadership moved" in shown.out, shown.err
    assert schema.out == (here / "kafka-harness.schema.json").read_text()


def test_show_refuses_what_run_would_refuse_on_that_backend():
    done = called("show", "study-1", "--backend", "external")

    assert done.code == 254
    assert "kill is not available on the backend external" in done.err


def test_the_same_seed_shows_the_same_plan_and_configuration():
    """In another process too, which hashes otherwise."""
    asked = ("show", "study-1-sure", "--seed", "5")

    assert started(*asked) == called(*asked)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["rum"], "No such command 'rum'"),
        (["run"], "Missing argument"),
        (["run", "study1"], "did you mean 'study-1'?"),
        (["run", "nowhere.toml"], "nowhere.toml: no such file"),
        (["run", "study-1", "--set", "workload.rond=1"], "did you mean 'workload.rounds'?"),
        (["run", "study-1", "--set", "workload.producer.lingr.ms=1"], "lingr.ms"),
        (["run", "study-1", "--set", "workload.rounds"], "write path=value"),
        (["run", "study-1", "--set", "expect.loss='0'"], "expect.loss: no such anomaly"),
        (["run", "study-1", "--set", "expect.lost='few'"], "'few' is not a demand"),
        (["run", "study-1", "--repeat", "0"], "--repeat"),
        (["run", "study-1", "--producer-config", "nowhere.properties"], "nowhere.properties"),
        (["run", "study-1", "--backend", "abacus"], "abacus"),
        (["run", "study-1", "--kafka-home", "nowhere"], "--kafka-home: "),
        (["show", "study-1", "--kafka-home", "nowhere"], "nowhere has no folder libs/"),
        (
            ["run", "study-1", "--set", "workload.consumer.fetch.min.byts=3"],
            "mean workload.consumer.fetch.min",
        ),
        (["run", "study-1", "--set", "faults.0.at_s=-1"], "study-1.toml: first [[faults]] (kill l"),
        (["check", "nowhere"], "nowhere: no run there"),
        (["report", "nowhere"], "nowhere: no run there"),
        (["history", "nowhere"], "nowhere: no run there"),
        (["campaign", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["new", "a/b"], "a name has letters"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_said_in_one_sentence(here, arguments, told):
    refused(here, arguments, told)


@pytest.mark.parametrize(
    ("command", "key", "meant"),
    [
        ("run", "cluster.server.num.partitons", "num.partitions"),
        ("show", "cluster.server.num.partitons", "num.partitions"),
        ("up", "cluster.server.num.partitons", "num.partitions"),
        ("run", "topic.config.retention.mss", "retention.ms"),
        ("run", "cluster.zoo.tickTme", "tickTime"),
    ],
)
def test_a_key_that_kafka_does_not_know_is_refused_too(here, command, key, meant):
    needs("kafka")
    section = ".".join(key.split(".")[:2])
    refused(here, [command, "study-1", "--set", f"{key}=3"], f"did you mean {section}.{meant}?")


def refused(folder, arguments, told):
    done = called(*arguments)

    assert done.code == 254, done.out + done.err
    assert told in done.err
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("backend", "environment", "told"),
    [
        ("docker", {"DOCKER_HOST": "unix:///nowhere/docker.sock"}, "no Docker engine answers"),
        ("kubernetes", {"KUBECONFIG": "/nowhere/config"}, "no Kubernetes is configured"),
        ("local", {"KAFKA_HARNESS_CACHE": "/nowhere/cache"}, "has not been fetched yet"),
    ],
)
def test_a_backend_that_is_not_there_is_no_bad_argument(here, backend, environment, told):
    """The harness cannot do its job; and there is no folder, because there was no run."""
    if backend == "local":
        needs("namespaces")  # which come first
    else:
        pytest.importorskip(backend)
    done = called("run", "study-1", "--backend", backend, environment=environment)

    assert done.code == 255, done.out + done.err
    assert told in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert list(here.iterdir()) == []


def test_show_needs_neither_kafka_nor_docker_and_says_what_it_could_not_check():
    nothing = {"KAFKA_HARNESS_CACHE": "/nowhere", "DOCKER_HOST": "unix:///nowhere/docker.sock"}

    for backend in ("local", "docker"):
        done = called("show", "study-1", "--backend", backend, environment=nothing)

        assert done.code == 0, done.err
        assert "were not checked for typing errors: Kafka 3.9.2 has not been fetc" in done.out


def test_a_results_folder_that_is_not_ours_is_refused(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"name": "holiday"}))

    done = started("check", str(tmp_path))

    assert done.code == 254
    assert "not a run of this version" in done.err


@pytest.mark.jvm  # Java is asked for its version first
def test_a_results_place_that_cannot_be_written_is_named_with_the_remedy(tmp_path):
    (tmp_path / "file").write_text("in the way")

    done = started("run", "baseline", "--results", str(tmp_path / "file"))

    assert done.code == 254
    assert "choose another folder with --results" in done.err


@pytest.mark.parametrize(
    ("codes", "together"),
    [
        ([], 2),
        ([0], 0),
        ([0, 2], 2),
        ([0, 2, 255], 255),
        ([2, 255, 0], 255),
        ([0, 2, 255, 1], 1),
        ([255, 1, 2], 1),
        ([1, 130], 130),
        ([255, 143, 0], 143),
    ],
)
def test_over_several_runs_1_beats_255_beats_2_beats_0(codes, together):
    assert together == worst(codes)


def test_heal_says_what_was_in_force_and_that_nothing_is_left(run):
    Undo(run).begun(3, "cut", "mend", ["kafka1"], {})

    done = called("heal", run)

    assert done.code == 0, done.err
    assert "fault 3: cut kafka1, may still be in force (undo: mend)" in done.out
    assert "nothing to heal" in done.out


# Whatever the input


def test_what_nobody_foresaw_is_one_sentence_and_255(tmp_path, monkeypatch):
    def broken() -> dict[str, Path]:
        raise KeyError("nobody knows")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("harness.scenario.file.shipped", broken)

    done = called("scenarios")

    assert done.code == 255
    assert len(done.err.strip().splitlines()) == 1
    assert "KeyError: 'nobody knows'" in done.err
    (details,) = tmp_path.glob("kafka-harness/unexpected-*.txt")
    assert str(details) in done.err
    assert "Traceback" in details.read_text()


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check starts Spark before it looks at the history; these end there, and need none."""
    monkeypatch.setattr("analysis.spark.ahead.Ahead.start", lambda _: None)


@pytest.mark.usefixtures("no_spark")
def test_a_damaged_history_is_one_sentence_that_names_the_file(run):
    mark = run / "history" / "sealed.json"
    mark.write_bytes(mark.read_bytes()[:100])

    done = called("check", run)

    assert done.code == 254
    assert mark.name in done.err
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.usefixtures("no_spark")
def test_of_a_run_the_details_are_in_its_folder(run, monkeypatch):
    def broken(_: Path) -> None:
        raise ZeroDivisionError("no")

    monkeypatch.setattr("harness.history.sealing.seal", broken)

    done = called("check", run)

    assert done.code == 255
    assert "ZeroDivisionError: no" in done.err
    (details,) = run.glob("unexpected-*.txt")
    assert str(details) in done.err


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"verdict": 1}', "[" * 100_000])
def test_a_report_that_nobody_wrote_is_one_sentence(run, text):
    (run / "report.json").write_text(text)

    done = called("report", run)

    assert done.code == 254
    assert "report.json: not a report of this version" in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_report_s_texts_are_printed_as_they_are(run):
    stored = json.loads((ROOT / "tests/baseline/golden/leader-stopped.json").read_text())
    assert stored["verdict"] == "valid"
    stored["sentence"] = "[link=file:///etc/passwd]x[/link] \x1b]0;title\x07 [/]"
    stored["run"]["command"] = "rm\r\x1b[2Kls"
    (run / "report.json").write_text(json.dumps(stored))

    done = called("report", run)

    assert done.code == 0
    assert "\n[link=file:///etc/passwd]x[/link] \\x1b]0;title\\x07 [/]\n" in done.out
    assert "rerun    rm\\r\\x1b[2Kls" in done.out
    assert "\x1b" not in done.out


def test_folders_where_files_belong_are_one_sentence(run):
    (run / "undo.jsonl").mkdir()
    (run / "report.json").mkdir()

    for command in ("heal", "report"):
        done = called(command, run)
        assert done.code == 254
        assert "cannot be read" in done.err
        assert len(done.err.strip().splitlines()) == 1


def test_a_link_out_of_a_run_is_followed_by_no_command(run, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("keep out")
    (run / "undo.jsonl").symlink_to(secret)

    for command in ("check", "heal", "report", "history"):
        done = called(command, run)
        assert done.code == 254
        assert "undo.jsonl: a link that leads out of the run's folder" in done.err
    assert secret.read_text() == "keep out"


def test_heal_asks_before_it_runs_a_command_and_runs_it_when_allowed(run, tmp_path):
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "backend": "external"}))
    mark = tmp_path / "healed"
    options = {"inject": ["true"], "heal": ["touch", str(mark)]}
    Undo(run).begun(0, "command", "heal", ["kafka1"], options)

    done = called("heal", run)
    assert (done.code, mark.exists()) == (255, False)
    assert f"touch {mark}" in done.out

    assert (called("heal", run, "--allow", "command").code, mark.exists()) == (0, True)


def test_a_suggested_command_can_be_pasted_whatever_the_folder_s_name(run, tmp_path):
    strange = run.rename(tmp_path / "a run; it's $mine")

    for text in (None, "{}"):
        if text is not None:
            (strange / "report.json").write_text(text)
        command = called("report", strange).err.split("`")[1]
        assert ["kafka-harness", "check", str(strange)] == shlex.split(command)


def test_set_up_without_the_right_to_install_prints_the_command(monkeypatch):
    monkeypatch.setattr(system_packages, "missing", lambda **_: ["iptables"])
    monkeypatch.setattr(system_packages, "package_manager", lambda: "dnf")
    monkeypatch.setattr("os.getuid", lambda: 1000)

    done = called("setup")

    assert done.code == 255
    assert done.err.startswith("kafka-harness: missing: iptables. Install with")
    assert "sudo dnf install -y iptables-nft" in done.err


def test_a_wheel_that_is_not_there_is_one_sentence(tmp_path):
    done = called("harness-image", "--wheel", tmp_path / "gone.whl")

    assert done.code == 254
    assert "gone.whl' does not exist" in done.err


def test_the_version_is_told_with_its_commit():
    done = called("--version")

    assert done.code == 0
    assert done.out == f"{release.described()}\n"
