"""junit.xml says the verdict in the three marks that every CI system shows."""

from xml.etree import ElementTree

import pytest

from analysis.report.junit import render
from tests.support.pages import reports


def cases(example: reports.Example) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(render(example.model))
    return {case.attrib["name"]: case for case in root.iter("testcase")}


def marks(example: reports.Example) -> dict[str, str]:
    """Of each case its mark, or `passed`."""
    found = {}
    for name, case in cases(example).items():
        tags = [child.tag for child in case if child.tag != "system-out"]
        found[name] = tags[0] if tags else "passed"
    return found


def test_a_valid_run_is_green():
    assert {"passed"} == set(marks(reports.valid()).values())


def test_a_broken_promise_fails_its_case_and_the_verdict_and_nothing_else():
    found = marks(reports.invalid())

    assert ["verdict", "promise: no lost"] == [n for n, mark in found.items() if mark == "failure"]
    assert {"failure", "passed"} == set(found.values())


def test_a_failure_carries_the_evidence_in_its_text():
    failure = cases(reports.invalid())["promise: no lost"].find("failure")

    assert failure is not None
    assert failure.text is not None
    assert "3 lost seen" in failure.text
    assert "2 delivered before, 1 never delivered" in failure.text
    assert "value=977" in failure.text
    assert "KIP" in failure.text or "Kafka documentation" in failure.text
    assert "acked_ns" not in failure.text


def test_an_unknown_run_is_one_error_and_no_promise_counts_as_kept():
    found = marks(reports.unknown())

    assert "error" == found.pop("verdict")
    assert {"skipped"} == set(found.values())


def test_the_error_says_why_nothing_was_proved_and_how_to_run_it_again():
    error = cases(reports.unknown())["verdict"].find("error")

    assert error is not None
    assert error.text is not None
    assert "a planned fault was not in force" in error.text
    assert "time limit" in error.text
    assert "kafka-harness run study-1" in error.text


def test_a_control_that_loses_as_demanded_is_green_and_shows_what_it_lost():
    example = reports.control()
    demand = cases(example)["demand: lost >= 1"].find("system-out")

    assert {"passed"} == set(marks(example).values())
    assert demand is not None
    assert "value=977" in (demand.text or "")


def test_an_unmet_demand_fails():
    example = reports.control()
    example.report["anomalies"]["lost"] |= {"count": 0, "demand_met": False}
    example.report["verdict"] = "invalid"

    assert "failure" == marks(example)["demand: lost >= 1"]


def test_a_kept_promise_needs_a_complete_final_read_even_in_a_convicted_run():
    example = reports.invalid()
    example.report["final_read"]["complete"] = False
    found = marks(example)

    assert "failure" == found["promise: no lost"]
    assert "skipped" == found["promise: no vanished"]


def test_what_is_allowed_and_not_demanded_is_no_case():
    assert "promise: no duplicate" not in marks(reports.control())


@pytest.mark.parametrize(
    "build", [reports.valid, reports.invalid, reports.unknown, reports.empty, reports.huge]
)
def test_the_totals_are_those_of_the_cases(build):
    root = ElementTree.fromstring(render(build().model))
    suite = root.find("testsuite")
    assert suite is not None

    counted = {
        "tests": len(list(root.iter("testcase"))),
        "failures": len(list(root.iter("failure"))),
        "errors": len(list(root.iter("error"))),
        "skipped": len(list(root.iter("skipped"))),
    }
    assert counted == {key: int(suite.attrib[key]) for key in counted}
    assert counted == {key: int(root.attrib[key]) for key in counted}


def test_the_verdict_s_case_has_the_run_s_time():
    """So that the times of all cases add up to it."""
    example = reports.valid()
    times = {name: case.attrib["time"] for name, case in cases(example).items()}

    assert f"{example.report['run']['duration_s']:.3f}" == times.pop("verdict")
    assert {"0.000"} == set(times.values())


def test_repeats_with_other_seeds_do_not_hide_each_other():
    first, second = reports.valid(), reports.valid()
    second.report["run"]["seed"] = 43

    names = [
        {(case.attrib["classname"], case.attrib["name"]) for case in cases(example).values()}
        for example in (first, second)
    ]
    assert set() == names[0] & names[1]


def test_names_of_a_run_are_unique():
    root = ElementTree.fromstring(render(reports.valid().model))
    names = [case.attrib["name"] for case in root.iter("testcase")]

    assert len(names) == len(set(names))


def test_tags_and_control_characters_in_a_text_leave_it_xml():
    failure = cases(reports.hostile())["verdict"].find("failure")

    assert failure is not None
    assert "</script><script>" in (failure.text or "")
    assert "\x00" not in (failure.text or "")
