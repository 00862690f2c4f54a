"""Demands that nobody can judge in a stored run: an error of one sentence, never silence."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.anomalies import NAMES
from analysis.report.build import report
from analysis.report.found import COUNTED, PAST, Found, no_finding
from analysis.stored.run_files import CheckError
from analysis.verdict.permission import permission_of
from tests.support.histories import final_read
from tests.support.stored_runs import run_of

NOTHING_FOUND = Found(
    counts=dict.fromkeys((*COUNTED, *PAST), 0),
    ack_ms=None,
    delivery_ms=None,
    findings={name: no_finding(name) for name in NAMES},
    windows=[],
)


def written(demand: str) -> str:
    return "<= 2 %" if demand == "error-share" else "<= 2"


@pytest.mark.parametrize(
    ("demand", "of_run", "why"),
    [
        ("produce-gap-s", {"acks": "0"}, "with acks=0 nobody knows when writes stopped"),
        ("consume-gap-s", {}, "no consumer follows the log (workload.consumers is 0)"),
        ("consume-gap-s", {"acks": "0", "consumers": 1}, "with acks=0 nobody knows what there was"),
        ("process-gap-s", {"acks": "0", "commit": "after"}, "with acks=0 nobody knows what"),
        ("process-gap-s", {"consumers": 1}, "there is no consumer group (workload.group_consumers"),
        (
            "redeliveries",
            {},
            "nobody reads (workload.consumers, workload.group_consumers and workload.transformers "
            "are 0)",
        ),
        (
            "expelled-owners",
            {"consumers": 1},
            "there is no consumer group (workload.group_consumers",
        ),
        (
            "expelled-owners",
            {"commit": "after", "consumer": {"group.protocol": "consumer"}},
            "judged only where members are of one generation",
        ),
        ("delivery-p99-ms", {}, "nobody reads (workload.consumers, workload.group_consumers"),
        ("ack-p99-ms", {"acks": "0"}, "with acks=0 nothing is acknowledged"),
        ("error-share", {"acks": "0"}, "with acks=0 nobody knows which sends failed"),
        ("isr-leave-s", {}, "judged only where `check.watermarks` is set"),
        ("isr-return-s", {}, "judged only where `check.watermarks` is set"),
        ("kept-past-log-end", {}, "judged only where `check.watermarks` is set"),
        ("lost-within-log-end", {}, "judged only where `check.watermarks` is set"),
        ("acked-isr-alone", {"acks": "0"}, "with acks=0 nothing is acknowledged"),
        ("diverged", {}, "judged only where `check.replicas` is set"),
        ("skipped", {}, "judged only where the workload has a consumer group"),
    ],
)
def test_a_demand_that_nobody_can_judge_is_refused(
    demand: str, of_run: dict[str, Any], why: str
) -> None:
    run = run_of(final_read(), expect={demand: written(demand)}, **of_run)

    with pytest.raises(CheckError) as refused:
        report(run, NOTHING_FOUND, permission_of(run))

    assert str(refused.value).startswith(f"told/run.json: scenario.expect.{demand}: {why}")
    assert str(refused.value).endswith("; remove this demand")


@pytest.mark.parametrize(
    ("demand", "of_run"),
    [
        ("produce-gap-s", {}),
        ("consume-gap-s", {"consumers": 1}),
        ("consume-gap-s", {"kind": "write-read"}),
        ("process-gap-s", {"commit": "after"}),
        ("redeliveries", {"consumers": 1}),
        ("redeliveries", {"commit": "after"}),
        ("redeliveries", {"consumers": 1, "acks": "0"}),
        ("expelled-owners", {"commit": "after"}),
        ("delivery-p99-ms", {"kind": "write-read"}),
        ("delivery-p99-ms", {"commit": "after"}),
        ("delivery-p99-ms", {"consumers": 1, "acks": "0"}),
        ("ack-p99-ms", {}),
        ("error-share", {"acks": "1"}),
        ("isr-leave-s", {"watched": True}),
        ("isr-return-s", {"watched": True}),
        ("kept-past-log-end", {"watched": True}),
        ("lost-within-log-end", {"watched": True}),
        ("acked-isr-alone", {}),
        ("diverged", {"compared": True}),
        ("skipped", {"commit": "after"}),
    ],
)
def test_where_it_can_be_judged_the_report_has_it(demand: str, of_run: dict[str, Any]) -> None:
    """The twin of each."""
    run = run_of(final_read(), expect={demand: written(demand)}, **of_run)
    made = report(run, NOTHING_FOUND, permission_of(run))

    demanded = [*made.gap_demands, *made.count_demands, *made.level_demands]
    demanded += [name for name, each in made.anomalies.items() if each.demanded]
    assert demanded == [demand]


def test_a_demand_that_says_nothing_is_refused_with_its_place() -> None:
    run = run_of(final_read(), expect={"lost": "some"})

    with pytest.raises(CheckError, match=r"^told/run\.json: scenario\.expect\.lost: "):
        report(run, NOTHING_FOUND, permission_of(run))
