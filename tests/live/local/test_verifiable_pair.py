"""Kafka's own VerifiableProducer and VerifiableConsumer on a real cluster, imported and judged."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.distribution import ivy
from harness.distribution.kafka_home import KAFKA_VERSION, find_kafka
from harness.host.java import find_java
from tests.support.commands import COMMAND, Ran, ran

pytestmark = pytest.mark.cluster

RECORDS = 3000
SCRIPT = """
set -e
run=({java} -XX:TieredStopAtLevel=1 -cp '{path}')
tool() {{ "${{run[@]}}" org.apache.kafka.tools."$@" 2>> {folder}/said; }}
tool TopicCommand --bootstrap-server $KAFKA --create --topic pair --partitions 1 \
    --replication-factor 3 >> {folder}/said
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
    path = f"{_tools(folder, java)}:{find_kafka().class_path}"
    script = SCRIPT.format(java=java, path=path, folder=folder, n=RECORDS)
    done = subprocess.run(
        [*COMMAND, "up", "baseline", "--", "bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    said = folder / "said"
    assert done.returncode == 0, done.stdout + done.stderr + said.read_text()
    return folder


def _tools(folder: Path, java: Path) -> Path:
    """The jar of these tools, which no broker needs: fetched once."""
    kept = Path.home() / ".cache" / "kafka-harness-tests" / f"kafka-tools-{KAFKA_VERSION}.jar"
    if not kept.exists():
        alone = '<dependency org="{0}" name="{1}" rev="{2}" conf="default->master"/>'
        into, scratch = folder / "jars", folder / "scratch"
        scratch.mkdir()
        module = ("org.apache.kafka", "kafka-tools", KAFKA_VERSION)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(ivy, "_DEPENDENCY", alone)
            ivy.retrieve([module], into=into, scratch=scratch, java=java, say=lambda _: None)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(into / kept.name, kept)
    return kept


def imported(logs: Path, consumer: str, *options: str, into: str) -> Ran:
    files = [str(logs / "producer.jsonl"), str(logs / consumer)]
    results = logs / into
    argv = [*COMMAND, "import", *files, *options, "--acks", "1", "--results", str(results)]
    return ran(argv, results, limit_s=120)


def counted(report: dict[str, Any], *names: str) -> list[int]:
    return [report["anomalies"][name]["count"] for name in names]


def test_a_real_pair_that_lost_nothing_is_unknown_and_says_why(logs):
    run = imported(logs, "consumer.jsonl", "--final", str(logs / "consumer.jsonl"), into="whole")

    assert run.code == 2, run.out + run.err
    assert f"{RECORDS:,} sends, {RECORDS:,} acked; {RECORDS:,} records read" in run.out
    assert [0, 0, 0] == counted(run.report, "lost", "unseen", "duplicate")
    assert "kept" == run.report["outcome"]["data"]


def test_its_twin_in_which_records_were_replaced_lost_those(logs):
    """As after a leader's death: the offsets are there, with other records."""
    lines = [json.loads(line) for line in (logs / "consumer.jsonl").read_text().splitlines()]
    gone = {"7", "1234", "2999"}
    for line in lines:
        if line["name"] == "record_data" and line["value"] in gone:
            line["value"] = f"other-{line['value']}"
    (logs / "cut.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    run = imported(logs, "cut.jsonl", "--final", str(logs / "cut.jsonl"), into="lost")

    assert run.code == 2, run.out + run.err
    assert [3] == counted(run.report, "lost")
    assert 3 == run.report["anomalies"]["lost"]["judged"]["in_doubt"]


def test_a_consumer_that_told_ranges_alone_proves_no_loss(logs):
    run = imported(logs, "ranges.jsonl", "--final", str(logs / "ranges.jsonl"), into="ranges")

    assert run.code == 2, run.out + run.err
    assert f"{RECORDS:,} records read" in run.out
    assert [0, RECORDS] == counted(run.report, "lost", "unseen")
