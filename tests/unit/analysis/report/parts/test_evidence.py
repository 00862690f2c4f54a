"""What a record was lost by is told once: the fault that belongs to it, and what happened."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.report.parts.evidence import evidence
from harness.model.runs.report import Report
from harness.model.runs.report_findings import Finding
from tests.support.pages import reports

WORDS = "kafka2 led partition 0 instead of kafka1, at 6.00 s"


def kill(number: int, start_s: float, healed_s: float | None, *nodes: str) -> dict[str, Any]:
    return {
        "fault": number,
        "verb": "kill",
        "target": "leader",
        "nodes": list(nodes),
        "start_s": start_s,
        "healed_s": healed_s,
    }


def cause(at_s: float | None, fault: int | None = None, *, sure: bool = True) -> dict[str, Any]:
    words = "kafka2 led partition 0 instead of kafka1"
    judged = {"permitted": {"lost": 1}, "in_doubt": {}}
    if not sure:
        judged = {"permitted": {}, "in_doubt": {"lost": 1}}
    why = None if sure else "nobody saw who led"
    told = {"numbers": [4], "kind": "another-leader", "words": words, "at_s": at_s, "why": why}
    return told | {"partition": 0, "fault": fault, "sure": sure} | judged


def table_of(anomaly: str, finding: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    """The table of a finding in a report that has these causes and faults."""
    whole = Finding.model_validate({"forbidden": False, "convicts": False, **finding})
    return evidence(anomaly, whole, Report.model_validate(reports.kills(times=0).report | report))


def finding(*rows: dict[str, Any], count: int = 0) -> dict[str, Any]:
    forbidden = sum(row.get("judged") == "forbidden" for row in rows)
    return {"examples": list(rows), "count": count or len(rows), "judged": {"forbidden": forbidden}}


def record(**known: Any) -> dict[str, Any]:
    row = {"value": 503, "leader": "kafka1", "sent_s": 4.9, "acked_s": 5.0, "judged": "permitted"}
    return row | {"faults": [0], "next_fault": 1, "cause": 4, "permitted_by": WORDS} | known


def blamed(
    row: dict[str, Any], causes: list[dict[str, Any]], *faults: dict[str, Any]
) -> tuple[str, object]:
    table = table_of("lost", finding(row), {"causes": causes, "faults": list(faults)})
    (part,) = table["parts"]
    if part.title:
        return "", part.title.removeprefix("1 lost by ")
    return table["columns"][1]["name"], part.rows[0][1].text


def test_the_killer_is_named_over_its_records_and_neither_the_fault_after_it_nor_a_column() -> None:
    faults = [kill(0, 4.99, 8.0, "kafka1"), kill(1, 15.0, 19.0, "kafka2")]
    table = table_of("lost", finding(record()), {"causes": [cause(6.0)], "faults": faults})

    assert heads(table) == ["value", "acked (s)", "leader then"]
    (part,) = table["parts"]
    assert part.title == f"1 lost by fault 0: kill → kafka1 ({WORDS})"
    assert part.rows[0][0].text == "503"


def test_each_cause_has_its_records_and_says_how_many_it_has_besides() -> None:
    by_config = record(cause=0, permitted_by="the configuration permits it", value=7, faults=[])
    forbidden = record(cause=None, permitted_by=None, judged="forbidden", value=8)
    many = cause(6.0) | {"permitted": {"lost": 170}}
    unlisted = cause(9.0, sure=False) | {"numbers": [5]}
    report = {"causes": [many, unlisted], "faults": [kill(0, 4.99, 8.0, "kafka1")]}

    table = table_of("lost", finding(record(), by_config, forbidden, count=173), report)

    assert table["listed"] == 3
    assert [
        (part.title, part.why, [row[0].text for row in part.rows]) for part in table["parts"]
    ] == [
        ("1 that nothing that happened permits", "", ["8"]),
        (f"170 lost by fault 0: kill → kafka1 ({WORDS})", "", ["503"]),
        (f"1 lost by {WORDS.replace('6.00', '9.00')}", "in doubt: nobody saw who led", []),
        ("Lost by before fault 1 (the configuration permits it)", "", ["7"]),
    ]


def test_a_fault_injected_between_the_ack_and_the_change_of_leader_is_the_killer() -> None:
    """In no column of the evidence before: it was injected after the ack."""
    row = record(faults=[], next_fault=1)

    _, words = blamed(row, [cause(6.0)], kill(1, 5.1, 8.0, "kafka1"))

    assert words == f"fault 1: kill → kafka1 ({WORDS})"


def test_of_two_faults_the_one_that_hit_the_record_s_leader_is_named() -> None:
    faults = [kill(0, 4.99, None, "kafka1"), kill(1, 5.5, None, "kafka3")]
    assert blamed(record(), [cause(6.0)], *faults)[1] == f"fault 0: kill → kafka1 ({WORDS})"

    faults[0]["nodes"] = ["zk1"]
    assert blamed(record(), [cause(6.0)], *faults)[1] == f"fault 1: kill → kafka3 ({WORDS})"


@pytest.mark.parametrize("healed_s", [4.0, None])
def test_a_fault_that_was_healed_before_the_send_is_nobody_s_killer(healed_s: float | None) -> None:
    _, words = blamed(record(), [cause(6.0)], kill(0, 1.0, healed_s, "kafka1"))

    assert words == (WORDS if healed_s else f"fault 0: kill → kafka1 ({WORDS})")


def test_a_fault_after_the_change_of_leader_is_nobody_s_killer() -> None:
    faults = [kill(0, 4.99, None, "kafka1"), kill(1, 6.5, None, "kafka1")]

    assert blamed(record(), [cause(6.0)], *faults)[1] == f"fault 0: kill → kafka1 ({WORDS})"


def test_a_cause_that_knows_its_fault_is_believed() -> None:
    faults = [kill(0, 4.99, None, "kafka1"), kill(1, 5.5, None, "kafka3")]

    assert (
        blamed(record(), [cause(6.0, fault=1)], *faults)[1] == f"fault 1: kill → kafka3 ({WORDS})"
    )


@pytest.mark.parametrize(
    ("faults", "following", "words"),
    [
        ([0], 1, "during fault 0: kill → kafka1 (the configuration permits it)"),
        ([], 1, "before fault 1: kill → kafka2 (the configuration permits it)"),
        ([], None, "the configuration permits it"),
    ],
)
def test_where_the_configuration_alone_permits_it_the_fault_only_says_when(
    faults: list[int], following: int | None, words: str
) -> None:
    row = record(faults=faults, next_fault=following, permitted_by="the configuration permits it")
    both = kill(0, 4.99, 8.0, "kafka1"), kill(1, 15.0, 19.0, "kafka2")

    assert blamed(row, [cause(None)], *both)[1] == words


def test_what_nothing_permits_is_said_to_be_so() -> None:
    row = record(cause=None, permitted_by=None, judged="forbidden")

    _, words = blamed(row, [], kill(0, 4.99, 8.0, "kafka1"))

    assert words == "during fault 0: kill → kafka1 (nothing that happened)"


def test_a_cause_that_may_not_have_happened_is_in_doubt() -> None:
    row = record(permitted_by=None, judged="in-doubt")

    _, words = blamed(row, [cause(6.0, sure=False)], kill(0, 4.99, 8.0, "kafka1"))

    assert str(words).startswith("fault 0: kill → kafka1 (in doubt: kafka2 led partition 0")


def test_of_a_cause_that_may_not_have_reached_them_all_each_record_is_in_its_own_part() -> None:
    some = cause(6.0) | {"in_doubt": {"lost": 2}, "why": "nobody saw the ISR"}
    rows = record(), record(value=9, permitted_by=None, judged="in-doubt")

    table = table_of("lost", finding(*rows, count=3), {"causes": [some], "faults": []})

    values = [(part.why, [row[0].text for row in part.rows]) for part in table["parts"]]
    assert values == [("", ["503"]), ("in doubt: nobody saw the ISR", ["9"])]


def test_what_is_not_gone_was_not_lost_by_anything() -> None:
    report = {"causes": [cause(None)], "faults": [kill(0, 4.99, 8.0, "kafka1")]}

    assert heads(table_of("duplicate", finding(record()), report))[1] == "explained by"


def test_without_anything_known_there_is_no_such_column() -> None:
    table = table_of("duplicate", finding({"value": 1, "offset": 2}), NOTHING)

    assert told(table) == [[("1", ""), ("2", "")]]


NOTHING: dict[str, Any] = {"causes": [], "faults": []}


def heads(table: dict[str, Any]) -> list[str]:
    return [column["name"] for column in table["columns"]]


def told(table: dict[str, Any]) -> list[list[tuple[str, str]]]:
    rows = [cells for part in table["parts"] for cells in part.rows]
    return [[(cell.text, cell.small) for cell in cells] for cells in rows]


def test_what_belongs_together_is_one_cell_and_times_are_seconds_with_three_places() -> None:
    row = {
        "run_id": "x",
        "anomaly": "lost",
        "value": 2**40 + 7,
        "producer": 1,
        "sequence": 7,
        "sent": "acked",
        "partition": 3,
        "offset": 4711,
        "copies": 0,
        "acked_ns": 5_012_345_678,
        "acked_s": 5.012345678,
        "sent_ns": 4_900_000_000,
        "sent_s": 4.9,
        "time_ns": 5_012_345_678,
        "time_s": 5.012345678,
        "leader": "kafka1",
        "epoch": 2,
    }

    table = table_of("lost", finding(row), NOTHING)

    assert heads(table) == ["value", "offset", "acked (s)", "leader then"]
    assert told(table) == [
        [
            ("1099511627783", "producer 1, number 7"),
            ("4,711", "partition 3"),
            ("5.012", "sent 4.900"),
            ("kafka1", "epoch 2"),
        ]
    ]


def test_the_moment_of_the_anomaly_is_shown_where_it_is_no_other_one() -> None:
    row = {"value": 1, "sent_s": 1.0, "acked_s": 2.0, "delivered_s": 3.0, "time_s": 9.5}

    assert heads(table_of("reprocessed", finding(row), NOTHING))[-1] == "again (s)"
    assert "seen (s)" not in heads(table_of("lost", finding(row | {"time_s": 2.0}), NOTHING))


def test_each_of_two_values_has_the_leader_that_wrote_it() -> None:
    row = {
        "value": 5,
        "other_value": 9,
        "outcome": "two_values",
        "leader": "kafka1",
        "epoch": 0,
        "other_leader": "kafka2",
        "other_epoch": 2,
    }

    table = table_of("inconsistent-offset", finding(row), NOTHING)

    assert heads(table) == ["value", "outcome", "other value"]
    assert told(table)[0][::2] == [("5", "by kafka1, epoch 0"), ("9", "by kafka2, epoch 2")]


def test_beside_two_values_a_moved_one_keeps_the_leader_of_its_ack() -> None:
    two = {"value": 5, "other_value": 9, "outcome": "two_values", "leader": None, "epoch": None}
    moved = {"value": 6, "outcome": "acked_elsewhere", "leader": "kafka3", "epoch": 4}

    table = table_of("inconsistent-offset", finding(two, moved), NOTHING)

    assert heads(table)[-1] == "leader then"
    assert [cells[-1] for cells in told(table)] == [("–", ""), ("kafka3", "epoch 4")]


def test_where_the_record_lies_behind_which_it_is_stands_with_that_one() -> None:
    row = {"value": 1, "offset": 9, "partition": 0, "other_value": 2, "other_offset": 8}

    table = table_of("reordered", finding(row), NOTHING)

    assert heads(table) == ["value", "offset", "behind value"]
    assert told(table)[0][-1] == ("2", "at offset 8")


def test_another_partition_is_named_and_the_same_one_is_not() -> None:
    rows = [
        {"value": 1, "partition": 0, "offset": 5, "other_partition": 0, "other_offset": 7},
        {"value": 2, "partition": 0, "offset": 6, "other_partition": 2, "other_offset": 8},
    ]

    table = table_of("duplicate", finding(*rows), NOTHING)

    assert heads(table)[-1] == "and at offset"
    assert [cells[-1] for cells in told(table)] == [("7", ""), ("8", "partition 2")]
