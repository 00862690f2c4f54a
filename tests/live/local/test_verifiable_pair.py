"""Kafka's own VerifiableProducer and VerifiableConsumer on a real cluster, imported and judged."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.distribution.jars_for_tests import TOOLS, fetch
from harness.distribution.kafka_home import find_kafka
from harness.foreign.about import About
from harness.foreign.imported_run import ImportRequest
from harness.foreign.importing import import_files
from harness.host.java import find_java
from tests.support.commands import COMMAND, TWO_NODES, ran
from tests.support.host_pace import bound_s

pytestmark = pytest.mark.cluster

RECORDS = 3000
SCRIPT = """
set -e
run=({java} -XX:TieredStopAtLevel=1 -cp '{path}')
tool() {{ "${{run[@]}}" org.apache.kafka.tools."$@" 2>> {folder}/said; }}
tool TopicCommand --bootstrap-server $KAFKA --create --topic pair --partitions 1 \
    --replication-factor 1 >> {folder}/said
tool VerifiableProducer --bootstrap-server $KAFKA --topic pair --max-messages {n} --throughput -1 \
    --acks 1 > {folder}/producer.jsonl
read_all="VerifiableConsumer --bootstrap-server $KAFKA --topic pair --max-messages {n}"
tool $read_all --group-id told --verbose > {folder}/consumer.jsonl
tool $read_all --group-id untold > {folder}/ranges.jsonl
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of a producer and of two consumers."""
    folder = tmp_path_factory.mktemp("pair")
    java = find_java().path
    [tools] = fetch(TOOLS)  # which no broker needs
    path = f"{tools}:{find_kafka().class_path}"
    script = SCRIPT.format(java=java, path=path, folder=folder, n=RECORDS)
    done = subprocess.run(
        [*COMMAND, "up", "baseline", *TWO_NODES, "--", "bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=bound_s(180),
    )
    said = folder / "said"
    assert done.returncode == 0, done.stdout + done.stderr + said.read_text()
    return folder


@pytest.fixture(scope="module")
def reports(logs: Path) -> dict[str, dict[str, Any]]:
    """The pair as it is; one in which records were replaced, as after a leader's death: the offsets
    are there, with other records; and one whose consumer told ranges alone. One check of all."""
    replaced(logs / "consumer.jsonl", {"7", "1234", "2999"}, logs / "replaced.jsonl")
    about = About(producer={"acks": "1"})
    runs = {}
    for name in ("consumer", "replaced", "ranges"):
        final = logs / f"{name}.jsonl"
        request = ImportRequest(name=name, results=logs / "results", command="import", about=about)
        runs[name], summary = import_files([logs / "producer.jsonl", final], [str(final)], request)
        assert f"{RECORDS:,} sends, {RECORDS:,} acked; {RECORDS:,} records read" in summary
    folders = [str(run.path) for run in runs.values()]
    done = ran([*COMMAND, "check", *folders], logs / "results", limit_s=150)
    assert done.code == 2, done.out + done.err
    return {n: json.loads((run.path / "report.json").read_text()) for n, run in runs.items()}


def replaced(log: Path, values: set[str], into: Path) -> None:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if line["name"] == "record_data" and line["value"] in values:
            line["value"] = f"other-{line['value']}"
    into.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def counted(report: dict[str, Any], *names: str) -> list[int]:
    return [report["anomalies"][name]["count"] for name in names]


def test_a_real_pair_that_lost_nothing_is_unknown_and_says_why(reports):
    report = reports["consumer"]

    assert [0, 0, 0] == counted(report, "lost", "unseen", "duplicate")
    assert ("kept", "unknown") == (report["outcome"]["data"], report["verdict"])


def test_its_twin_in_which_records_were_replaced_lost_those(reports):
    report = reports["replaced"]

    assert [3] == counted(report, "lost")
    assert 3 == report["anomalies"]["lost"]["judged"]["in_doubt"]
    assert "unknown" == report["verdict"]


def test_a_consumer_that_told_ranges_alone_proves_no_loss(reports):
    assert [0, RECORDS] == counted(reports["ranges"], "lost", "unseen")
