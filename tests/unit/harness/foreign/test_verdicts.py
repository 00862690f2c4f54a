"""What the check says of imported histories: what they cannot tell is unknown, and never good."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.checkout import ROOT
from harness.foreign import export_lines
from harness.foreign.about import About
from harness.model.runs.run_folder import RunFolder
from tests.support.foreign_lines import (
    acked,
    assigned,
    began,
    ended,
    imported,
    imported_pair,
    read,
    summed,
    tool_line,
    write_lines,
)
from tests.support.story_runs import checked

KNOWN = About(defaults=True, faults="none")
SENDS = [acked(10, "a", 0), acked(20, "b", 1), acked(30, "c", 1), acked(40, "d", 2)]
CLIENTS = (True, "3.1.1", "2.8", "3.1.0", "librdkafka")
TWICE = [assigned(100, 0), *(read(110, each, at) for at, each in enumerate("acda")), ended(120)]
SWAPPED = [
    line
    for at, each in ((1, "a"), (0, "b"))
    for line in (began(10 - at, each), acked(20, each, at))
]
IN_ORDER = [assigned(100, 0), read(110, "b", 0), read(110, "a", 1), ended(120)]
ERROR = tool_line(15, "producer_send_error", value="x", exception="E")
ELSEWHERE = [assigned(100, 2), read(110, "a", 0, partition=2), ended(120)]
EARLIER = [read(100, each, at) for at, each in enumerate(("old", "a", "b"), 10)]
LATER = [read(110, each, at) for at, each in enumerate("ab", 13)]
BEGUN = [began(0, "a"), began(1, "b"), acked(10, "a", 13), acked(20, "b", 14)]
TO_END = tool_line(130, "read_to_end", partition=0, log_start=10, log_end=15)
DOUBT = began(3, "c", partition=0)  # its end is not told
BELOW = [assigned(99, 0), read(100, "c", 12)]
AGAIN = About(producer={"acks": "all", "retries": 5}, faults="none")
# A topic that was not empty, or of which not all is told: sends, reads, what is known.
NOT_EMPTY: dict[str, tuple[list[Any], list[Any], About]] = {
    "earlier": (BEGUN, [*EARLIER, *LATER, ended(120)], KNOWN),
    "earlier, and a stranger later": (BEGUN, [*EARLIER, *LATER, read(111, "new", 15)], KNOWN),
    "earlier, and twice": (BEGUN, [*EARLIER, *LATER, read(111, "a", 15), ended(120)], KNOWN),
    "in doubt": (BEGUN, [*EARLIER, *LATER, ended(120)], AGAIN),
    "was empty": (
        BEGUN,
        [*EARLIER, *LATER, ended(120)],
        AGAIN.model_copy(update={"new_topic": True}),
    ),
    "lost, with a copy": (BEGUN, [*EARLIER, LATER[1], TO_END], KNOWN),
    "moved or lost": (BEGUN, [*EARLIER, LATER[1], TO_END], AGAIN),
    "one partition told": ([acked(10, "a", 0, partition=2)], ELSEWHERE, KNOWN),
    "a failed send anywhere": ([acked(10, "a", 0, partition=2), ERROR], ELSEWHERE, KNOWN),
    "one partition not read": (
        [acked(10, "a", 0, partition=2), acked(11, "b", 0)],
        ELSEWHERE,
        KNOWN,
    ),
    "doubt below": ([*BEGUN, DOUBT], [*BELOW, *LATER, ended(120)], KNOWN),
    "doubt, and it was empty": (
        [*BEGUN, DOUBT],
        [*BELOW, *LATER, ended(120)],
        KNOWN.model_copy(update={"new_topic": True}),
    ),
    "reads alone": ([tool_line(1, "startup_complete")], LATER, KNOWN),
}
THERE_AND_BACK = ("acks-1-leader-killed", "partition-ap", "leader-stopped")
READS = [assigned(100, 0), read(110, "a", 0), read(110, "c", 1), read(110, "d", 2), ended(120)]


@pytest.fixture(scope="module")
def reports(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One job for all."""
    del spark
    runs: dict[str, RunFolder] = {}

    def folder(name: str) -> Path:
        return tmp_path_factory.mktemp(name)

    whole = [acked(10, "a", 0), acked(20, "c", 1), acked(40, "d", 2)]
    begun = [line for n, value in enumerate("acd") for line in (began(n * 10, value),)]
    told = sorted([*begun, *whole], key=lambda line: line["timestamp"])
    acks_1 = About(producer={"acks": "1"})
    runs["one lost"] = imported_pair(folder("lost"), SENDS, READS)
    runs["none lost"] = imported_pair(folder("none"), whole, READS, KNOWN)
    runs["all told"] = imported_pair(folder("told"), told, READS, KNOWN)
    runs["acks=1"] = imported_pair(folder("acks"), SENDS, READS, acks_1)
    safe = About(defaults=True, faults="none", producer={"acks": "all"}, replication_factor=1)
    runs["surely lost"] = imported_pair(folder("sure"), SENDS, READS, safe)
    ranges = [assigned(100, 0), summed(110, 0, 2), ended(120)]
    runs["ranges"] = imported_pair(folder("ranges"), SENDS, ranges)
    runs["stopped early"] = imported_pair(folder("stopped"), SENDS, [*READS[:2], ended(120)])
    again = [assigned(130, 0), read(140, "a", 0), ended(150)]
    runs["went back"] = imported_pair(folder("back"), whole, [*READS[:-1], *again], KNOWN)
    there = [*again[:-1], read(140, "c", 1), read(140, "d", 2), ended(150)]
    runs["went back and on"] = imported_pair(folder("on"), whole, [*READS[:-1], *there], KNOWN)
    nobody = folder("nobody")
    files = write_lines(nobody / "p.jsonl", SENDS), write_lines(nobody / "c.jsonl", READS)
    runs["no final read"] = imported(nobody / "results", *files)
    nobodys = [*READS[:-1], read(110, "never", 3), ended(120)]
    runs["a stranger"] = imported_pair(folder("strange"), whole, nobodys, KNOWN)
    runs["a phantom"] = imported_pair(folder("phantom"), told, nobodys, KNOWN)
    for name, (sends, reads, about) in NOT_EMPTY.items():
        runs[name] = imported_pair(folder("earlier"), sends, reads, about)
    for client in CLIENTS:
        of = About(defaults=client, faults="none")
        runs[f"twice, {client}"] = imported_pair(folder("twice"), told, TWICE, of)
        runs[f"swapped, {client}"] = imported_pair(folder("swapped"), SWAPPED, IN_ORDER, of)
    for name in THERE_AND_BACK:
        runs[name], runs[f"{name}, in lines"] = there_and_back(name, folder("recorded"))
    found = checked([run.path for run in runs.values()])
    return {
        name: {**report, "folder": run.path}
        for (name, run), report in zip(runs.items(), found, strict=True)
    }


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("seen", "anomaly"), [("twice", "duplicate"), ("swapped", "reordered")])
def test_what_idempotence_excludes_convicts_where_the_client_has_it(reports, seen, anomaly, client):
    report = reports[f"{seen}, {client}"]

    (judged,) = [word for word, n in report["anomalies"][anomaly]["judged"].items() if n]
    assert judged == ("forbidden" if client in {True, "3.1.1"} else "permitted")
    name = "librdkafka" if client == "librdkafka" else "the Java client of Kafka "
    release = {True: "3.9", "librdkafka": ""}.get(client, client)
    assert f"are the defaults of {name}{release}: " in report["sentence"]


def counts(report: dict[str, Any], *names: str) -> list[int]:
    return [report["anomalies"][name]["count"] for name in names]


@pytest.mark.parametrize("name", ["one lost", "acks=1"])
def test_what_was_lost_is_found_and_in_doubt_where_nothing_is_known(reports, name):
    report = reports[name]

    assert [1] == counts(report, "lost")
    assert "1 of 4 acknowledged records lost" in report["outcome"]["words"]
    assert report["anomalies"]["lost"]["judged"] == {"permitted": 0, "forbidden": 0, "in_doubt": 1}
    assert "unknown" == report["verdict"]


def test_its_twin_lost_nothing_and_is_not_green(reports):
    report = reports["none lost"]

    assert "kept" == report["outcome"]["data"]
    assert "unknown" == report["verdict"]
    assert not {"reordered", "real-time-violation", "phantom"} & report["anomalies"].keys()
    assert any("when sends began: " in why for why in report["reasons"])
    assert [] == report["windows"]
    assert {"ack": None, "delivery": None} == report["latency_ms"]


def test_with_begins_order_is_judged_and_what_lines_never_tell_is_still_unknown(reports):
    report = reports["all told"]

    assert [0, 0, 0] == counts(report, "reordered", "real-time-violation", "phantom")
    assert "unknown" == report["verdict"]
    assert any("checksums: corrupt is unknown" in why for why in report["reasons"])


def test_a_loss_that_nothing_could_permit_convicts(reports):
    report = reports["surely lost"]

    assert [1] == counts(report, "lost")
    assert "invalid" == report["verdict"]


@pytest.mark.parametrize("name", ["no final read", "stopped early", "ranges", "went back"])
def test_without_a_final_read_to_the_end_nothing_is_called_lost(reports, name):
    report = reports[name]

    assert [0] == counts(report, "lost")
    assert report["anomalies"]["unseen"]["count"] > 0
    assert "unknown" == report["outcome"]["data"]
    assert "unknown" == report["verdict"]


def test_who_goes_back_has_not_read_what_it_read_before(reports):
    back, on = reports["went back"], reports["went back and on"]

    assert [2, 0] == counts(back, "unseen", "vanished")
    assert [0, 0] == counts(on, "unseen", "lost")
    assert "kept" == on["outcome"]["data"]


def test_what_nobody_told_to_have_sent_is_a_phantom_only_where_all_begins_are_told(reports):
    assert "phantom" not in reports["a stranger"]["anomalies"]
    assert [1] == counts(reports["a phantom"], "phantom")


@pytest.mark.parametrize(
    ("name", "found", "outcome"),
    [
        ("earlier", {}, "no acknowledged record lost"),
        ("earlier, and a stranger later", {"phantom": 1}, "no acknowledged record lost, 1 phantom"),
        ("earlier, and twice", {"duplicate": 1}, "no acknowledged record lost, 1 duplicate"),
        ("in doubt", {}, "no acknowledged record lost"),
        (
            "was empty",
            {"duplicate": 2, "phantom": 1},
            "no acknowledged record lost, 2 duplicates, 1 phantom",
        ),
        ("lost, with a copy", {"lost": 1, "hole": 1}, "1 of 2 acknowledged records lost"),
        (
            "moved or lost",
            {"inconsistent-offset": 1},
            "not known whether data was lost, 1 inconsistent offset",
        ),
        ("one partition told", {}, "no acknowledged record lost"),
        ("a failed send anywhere", {}, "no acknowledged record lost"),
        ("one partition not read", {"unseen": 1}, "not known whether data was lost"),
        ("doubt below", {}, "no acknowledged record lost"),
        ("doubt, and it was empty", {}, "no acknowledged record lost"),
        ("reads alone", {}, "not known whether data was lost"),
    ],
)
def test_a_topic_that_was_not_empty_and_partitions_of_which_nobody_tells(
    reports, name, found, outcome
):
    report = reports[name]

    assert found == {k: v["count"] for k, v in report["anomalies"].items() if v["count"]}
    assert outcome == report["outcome"]["words"]
    told = [why for why in report["reasons"] if "is not complete" in why]
    whole = name != "one partition not read"
    assert whole == report["final_read"]["complete"] == (not told)
    assert ("copies" in report["untold"]) == (name in {"in doubt", "moved or lost"})
    assert ("phantom" in report["anomalies"]) == ({"begins", "sends"}.isdisjoint(report["untold"]))
    assert 0 == report["counts"]["undelivered"]
    landed = report["counts"]["indeterminate_landed"]
    assert landed == (name == "doubt, and it was empty")
    assert ("landed" in report["untold"]) == (name == "doubt below")


# --- there and back


def there_and_back(name: str, folder: Path) -> tuple[RunFolder, RunFolder]:
    """A recorded run, and the one that is imported from its lines."""
    run = Path(shutil.copytree(ROOT / "tests" / "golden" / name, folder / name))
    left_out: Counter[str] = Counter()
    file = write_lines(folder / "told.jsonl", export_lines.export(run, left_out))
    back = imported(folder / "results", file, final=["final-read-0"], about=KNOWN)
    return RunFolder(path=run), back


@pytest.mark.parametrize("name", THERE_AND_BACK)
def test_a_recorded_run_told_in_lines_has_the_same_findings(reports, name):
    first, second = reports[name], reports[f"{name}, in lines"]

    for anomaly in ("lost", "vanished", "duplicate", "unseen", "inconsistent-offset", "phantom"):
        assert found(first["folder"], anomaly) == found(second["folder"], anomaly), anomaly
    assert first["counts"]["acked"] == second["counts"]["acked"]
    assert first["counts"]["indeterminate_landed"] == second["counts"]["indeterminate_landed"]


def found(run: Path, anomaly: str) -> list[str]:
    """The texts of the values that have an anomaly."""
    table = run / "history" / "values.parquet"
    rows = pq.read_table(table).to_pylist() if table.exists() else []
    texts = {row["value"]: row["text"] for row in rows}
    evidence = pq.read_table(run / "analysis" / f"{anomaly}.parquet")["value"].to_pylist()
    return sorted(texts.get(value, str(value)) for value in evidence)
