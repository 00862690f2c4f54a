"""What may be done to a cluster that outlived its harness, and to one that is not ours."""

from __future__ import annotations

import pytest

from harness.cluster.nodes import ClusterError
from harness.cluster.ownership import Orphan, guard
from harness.model.runs.run_record import ClusterRecord


def test_what_bears_our_label_may_be_hit():
    guard("kafka-harness-x", ours=True, named=None, allowed=())


def test_somebody_s_cluster_may_be_hit_when_it_is_named_and_allowed():
    guard("staging", ours=False, named="staging", allowed=("staging",))


@pytest.mark.parametrize(
    ("named", "allowed", "remedy"),
    [
        (None, (), "name it in the scenario"),
        ("staging", (), "add --allow staging"),
        (None, ("staging",), "name it in the scenario"),
        ("staging", ("prod",), "--allow staging"),
        ("prod", ("staging",), "name it in the scenario"),
    ],
)
def test_naming_alone_and_allowing_alone_are_not_enough(named, allowed, remedy):
    with pytest.raises(ClusterError, match=remedy):
        guard("staging", ours=False, named=named, allowed=allowed)


def test_a_run_that_never_started_a_cluster_tells_of_none():
    assert Orphan(record=None, name="x", down=False).cluster == ClusterRecord()
