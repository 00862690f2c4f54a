"""What the records of the log make of the cluster's state, one after the other."""

from __future__ import annotations

from harness.cluster.view.metadata_log import decoding
from harness.cluster.view.metadata_log.batches import whole_batches
from harness.cluster.view.metadata_log.commit import Copy
from harness.cluster.view.metadata_log.lineage import Place, behind, extended
from harness.cluster.view.metadata_log.records import Partition, Voter
from harness.cluster.view.metadata_log.state import Metadata, Registration, advance, replayed
from tests.support.labs import metadata_logs as logs

MADE = [logs.topic("t"), logs.partition("t", 0), logs.partition("t", 1, leader=2)]


def after(*records: bytes) -> Metadata:
    metadata = Metadata()
    for record in records:
        read = decoding.of_data(record)
        if read is not None:
            metadata.apply(read)
    return metadata


def zero(*records: bytes) -> Partition:
    return after(*MADE, *records).partitions("t")[0]


# --- partitions


def test_a_topic_has_its_partitions():
    metadata = after(*MADE)

    assert list(metadata.partitions("t")) == [0, 1]
    assert metadata.partitions("t")[1].leader == 2
    assert metadata.partitions("other") == {}


def test_a_change_of_the_isr_raises_the_partition_epoch_alone():
    state = zero(logs.change("t", 0, isr=[1, 3]))

    assert (state.isr, state.leader) == ((1, 3), 1)
    assert (state.leader_epoch, state.partition_epoch) == (0, 1)


def test_a_change_that_names_a_leader_raises_both_epochs():
    """The same leader, too: so the controller drops a replica of an older metadata version."""
    for leader in (2, 1):
        state = zero(logs.change("t", 0, leader=leader, isr=[1, 2]))
        assert (state.leader, state.leader_epoch, state.partition_epoch) == (leader, 1, 1)


def test_no_leader_and_an_empty_isr_are_a_state_and_the_elr_has_who_may_lead():
    """The last replica standing loses power: KIP-966."""
    gone = logs.change("t", 0, leader=logs.NOBODY, isr=[], elr=[1, 3], last_known_elr=[2])
    state = zero(gone)
    assert (state.leader, state.isr, state.elr) == (None, (), (1, 3))
    assert (state.last_known_elr, state.leader_epoch) == ((2,), 1)

    back = zero(gone, logs.change("t", 0, leader=3, isr=[3], elr=[], last_known_elr=[]))
    assert (back.leader, back.isr, back.elr, back.last_known_elr) == (3, (3,), (), ())


def test_clearing_the_elr_changes_those_that_have_one():
    """min.insync.replicas was set on the topic; and for all topics."""
    had = logs.change("t", 0, elr=[2])
    for cleared in (logs.clear_elr("t"), logs.clear_elr()):
        metadata = after(*MADE, had, cleared)
        assert metadata.partitions("t")[0].elr == ()
        assert metadata.partitions("t")[0].partition_epoch == 2
        assert metadata.partitions("t")[1].partition_epoch == 0

    assert after(*MADE, had, logs.clear_elr("other")).partitions("t")[0].elr == (2,)


def test_a_reassignment_changes_the_replicas():
    assert zero(logs.change("t", 0, replicas=[4, 1])).replicas == (4, 1)


def test_a_topic_that_was_removed_is_gone_with_its_partitions():
    gone = after(*MADE, logs.topic_gone("t"))
    assert gone.partitions("t") == {}
    assert gone.topics == {}

    again = after(*MADE, logs.topic_gone("t"), logs.topic("t"))
    assert again.partitions("t") == {}


def test_a_change_of_no_partition_changes_nothing():
    assert after(logs.change("t", 0, isr=[1])).partitions("t") == {}


# --- brokers and features


def test_a_broker_registers_is_unfenced_and_fenced_again():
    joined = [logs.broker(2, 41), logs.unfence(2, 41)]
    assert after(*joined).brokers == {2: Registration(epoch=41, fenced=False, shutting_down=False)}
    assert after(*joined, logs.fence(2, 41)).brokers[2].fenced
    assert after(*joined, logs.registration_change(2, 41, fenced=1)).brokers[2].fenced

    down = after(*joined, logs.registration_change(2, 41, shutting_down=1)).brokers[2]
    assert (down.fenced, down.shutting_down) == (False, True)


def test_what_is_said_of_an_older_process_does_not_count():
    joined = [logs.broker(2, 41), logs.broker(2, 90), logs.unfence(2, 90)]

    assert after(*joined, logs.fence(2, 41)).brokers[2].fenced is False
    assert after(*joined, logs.unregister(2, 41)).brokers[2].epoch == 90
    assert after(*joined, logs.unregister(2, 90)).brokers == {}


def test_features_have_levels_until_they_have_none():
    on = [logs.feature("metadata.version", 25), logs.feature("group.version", 1)]

    assert after(*on).features == {"metadata.version": 25, "group.version": 1}
    assert after(*on, logs.feature("group.version", 0)).features == {"metadata.version": 25}


# --- transactions


def test_what_is_in_an_open_transaction_does_not_count_yet():
    assert after(logs.begin(), *MADE).partitions("t") == {}
    assert len(after(logs.begin(), *MADE, logs.end()).partitions("t")) == 2
    assert after(logs.begin(), *MADE, logs.abort()).partitions("t") == {}


def test_after_a_transaction_that_was_broken_off_the_log_goes_on():
    metadata = after(logs.begin(), *MADE, logs.abort(), logs.topic("u"), logs.partition("u", 0))

    assert list(metadata.topics) == ["u"]
    assert len(metadata.partitions("u")) == 1


# --- from copies


def copy(*batches: bytes, start: int = 0, snapshots: tuple[Place, ...] = ()) -> Copy:
    read = list(whole_batches(b"".join(batches)))
    before = next((behind(each) for each in snapshots if each.end == start), ())
    return Copy(
        node=Voter(id=1),
        lineage=extended(before, read),
        start=start,
        batches=read,
        snapshots=snapshots,
    )


LOG = [
    logs.batch(0, 1, logs.leader_change(101)),
    logs.batch(1, 1, *MADE),
    logs.batch(4, 1, logs.change("t", 0, isr=[1, 2]), logs.change("t", 0, isr=[1])),
    logs.batch(6, 1, logs.no_op()),
]


def test_a_copy_is_replayed_up_to_an_offset():
    def isr(end: int) -> tuple[int, ...]:
        metadata = replayed(copy(*LOG), end, lambda _: [])
        assert metadata is not None
        assert metadata.end == end
        return metadata.partitions("t")[0].isr

    assert [isr(4), isr(5), isr(6), isr(7)] == [(1, 2, 3), (1, 2), (1,), (1,)]


def test_a_state_goes_on_where_it_was():
    whole = copy(*LOG)
    metadata = replayed(copy(*LOG[:2]), 4, lambda _: [])
    assert metadata is not None

    assert advance(metadata, whole, 5)
    assert advance(metadata, whole, 5)
    assert metadata.partitions("t")[0].partition_epoch == 1
    assert advance(metadata, whole, 7)
    assert metadata.partitions("t")[0].partition_epoch == 2


def test_a_state_that_is_further_or_further_behind_than_the_log_cannot_go_on():
    metadata = Metadata()
    assert not advance(metadata, copy(LOG[3], start=6), 7)
    assert not advance(metadata, copy(*LOG), 9)

    metadata.end = 7
    assert not advance(metadata, copy(*LOG), 5)


def test_a_log_that_begins_behind_a_snapshot_begins_with_that():
    def load(at: Place):
        assert at == Place(epoch=1, end=4)
        made = [decoding.of_data(record) for record in MADE]
        return [(number, record) for number, record in enumerate(made) if record]

    others = Place(epoch=1, end=2), Place(epoch=1, end=6)
    behind_it = copy(*LOG[2:], start=4, snapshots=(others[0], Place(epoch=1, end=4), others[1]))

    metadata = replayed(behind_it, 5, load)
    assert metadata is not None
    assert metadata.partitions("t")[0].isr == (1, 2)
    assert replayed(behind_it, 3, load) is None
    assert replayed(copy(*LOG[2:], start=4), 5, load) is None


def test_a_snapshot_in_the_midst_of_a_batch_does_not_repeat_its_records():
    made = [*MADE, logs.partition("t", 0, isr=[1, 2], epochs=(0, 1))]
    read = [(n, record) for n, each in enumerate(made) if (record := decoding.of_data(each))]

    found = replayed(copy(*LOG[2:], start=4, snapshots=(Place(epoch=1, end=5),)), 6, lambda _: read)

    assert found is not None
    assert found.partitions("t")[0].partition_epoch == 2
