"""What permits a record against a second opinion in plain Python, on random stories of clusters.

400 stories in every test run, the same each time. `make oracle N=10000` draws others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.support.permissions.cluster import Sent
from tests.support.permissions.judging import permission_in, record_of
from tests.support.permissions.kraft_clusters import kraft_clusters
from tests.support.permissions.oracle import judge, may_truncate
from tests.support.permissions.random_clusters import Case, clusters
from tests.support.permitting import judged

OF_RECORDS = ("lost", "vanished", "duplicate", "inconsistent-offset", "diverged")
OF_LOGS = ("hole", "watermark-ahead")  # whatever the record, so nobody asks when it was sent
STORIES = 400
MORE = int(os.environ.get("ORACLE_STORIES", "0"))  # other stories than those of every test run
SEED = int(os.environ.get("ORACLE_SEED", "1"))


def differences(case: Case) -> Iterator[str]:
    """Where the two do not say the same of a record."""
    permission = permission_in(case.cluster)
    of_logs = [replace(sent, begun=None, known=None) for sent in case.records]
    asked = [*product(OF_RECORDS, case.records), *product(OF_LOGS, of_logs)]
    asked += [("metadata-back", back) for back in _backs(case)]
    for anomaly, sent in asked:
        if anomaly != "watermark-ahead" or not may_truncate(case.cluster):
            record = record_of(sent, anomaly)
            found = judged(permission, anomaly, record)
            wanted = judge(case.cluster, anomaly, replace(sent, delivered=record.delivered))
            if found != wanted:
                yield f"{anomaly} of {sent}: {found}, by the second opinion {wanted}"


def _backs(case: Case) -> Iterator[Sent]:
    """Where committed metadata went back, as rows of evidence."""
    for view in case.cluster.views:
        if view.get("went_back"):
            at, since = view["time_ns"], view["since_ns"]
            looked = at if since is None else since
            yield Sent(partition=view["partition"], begun=None, known=None, looked=looked, shown=at)


def shown(case: Case) -> str:
    """A story as lines."""
    cluster = case.cluster
    rows = [*cluster.views, *cluster.blind, *cluster.faults, cluster.effects, cluster.options]
    return "\n".join(map(str, [*rows, {"acks": cluster.acks, "topic": cluster.topic}]))


def compare(of: st.SearchStrategy[Case], stories: int, *, anew: bool) -> None:
    """Fails with the smallest story on which the two differ."""
    differ: list[Case] = []

    @settings(
        max_examples=stories,
        database=None,
        deadline=None,
        derandomize=not anew,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(of)
    def each(case: Case) -> None:
        if any(differences(case)):
            differ.append(case)

    (seed(SEED)(each) if anew else each)()
    if differ:
        small = min(differ, key=lambda case: len(case.cluster.views) + 3 * len(case.cluster.faults))
        told = "\n".join([*differences(small), shown(small)])
        pytest.fail(f"{len(differ)} of {stories} stories differ; the smallest:\n{told}")


@pytest.mark.timeout(0 if MORE else 600)
def test_causes_and_oracle_agree_on_what_permits_each_record() -> None:
    """The same stories every time; `make oracle N=10000` draws so many others."""
    compare(clusters(), MORE or STORIES, anew=bool(MORE))


@pytest.mark.timeout(0 if MORE else 600)
def test_they_agree_on_what_kraft_permits() -> None:
    """Eligible leaders, last known ones, and metadata that went back."""
    compare(kraft_clusters(), MORE or STORIES, anew=bool(MORE))
