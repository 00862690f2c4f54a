"""Workers as nodes: who is in whose place, and what of the load's limit is left to a successor."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.nodes import ClusterError, Node
from harness.history.progress_page import RUNNING, Progress
from harness.history.recorder import Lines
from harness.model.worker_kinds import KINDS
from harness.run.load.worker_nodes import WorkerNodes
from harness.run.load.workers import Worker, Workers
from harness.waiting import wait_until


class Place:
    """Makes workers that are `sleep` processes with a real progress page."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, list[Worker]()

    def worker(self, name: str, role: str, first: str | None = None, **spec: Any) -> Worker:
        process = subprocess.Popen(
            ["sleep", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        log = self.folder / f"{name}.log"
        log.write_text("")
        made = Worker(
            name=name,
            kind=KINDS[role],
            first=first or name,
            process=process,
            log=log,
            progress=Progress.create(self.folder, name),
            spec={"process": name, "config": {}, "history": str(self.folder), **spec},
        )
        self.made.append(made)
        return made

    def succeed(self, worker: Worker, changes: Any) -> Worker:
        more = {key: value for key, value in changes.items() if key not in ("process", "first")}
        return self.worker(changes["process"], worker.kind.name, changes["first"], **more)


@pytest.fixture
def place(tmp_path: Path) -> Any:
    made = Place(tmp_path)
    yield made
    for worker in made.made:
        worker.process.kill()
        worker.process.communicate()


@pytest.fixture
def load(place: Place) -> WorkerNodes:
    workers = Workers(
        [
            place.worker("producer-0", "producer", index=0),
            place.worker("producer-1", "producer", index=1),
            place.worker("consumer-0", "consumer"),
        ]
    )
    return WorkerNodes(workers=workers, address="10.0.0.1", succeed=place.succeed)


def node(load: WorkerNodes, name: str) -> Node:
    return next(each for each in load.living() if each.name == name)


def replaced(load: WorkerNodes, name: str) -> Node:
    """`name` was killed, and another is in its place."""
    hit = node(load, name)
    load.signal(hit, signal.SIGKILL)
    wait_until(lambda: load.state(hit).pid is None, timeout_s=5, what="the end")
    load.start_node(hit)
    return hit


def test_a_worker_that_ends_while_it_is_looked_at_has_no_process(load, monkeypatch):
    """It had not ended when that was asked, and has been reaped when the kernel is."""
    hit = node(load, "consumer-0")
    worker = next(each for each in load.workers.all if each.name == hit.name)
    worker.process.kill()
    worker.process.wait()
    monkeypatch.setattr(Worker, "ended", lambda _: False)

    assert load.state(hit).pid is None


def test_a_successor_has_a_name_and_values_of_its_own(load):
    replaced(load, "producer-0")
    replaced(load, "producer-0-2")
    replaced(load, "consumer-0")

    assert [n.name for n in load.living()] == ["producer-0-3", "producer-1", "consumer-0-2"]
    indexes = [w.spec["index"] for w in load.workers.ever if "index" in w.spec]
    assert indexes == [0, 1, 2, 3]
    assert [w.process for w in load.workers.as_records()] == [
        "producer-0",
        "producer-1",
        "consumer-0",
        "producer-0-2",
        "producer-0-3",
        "consumer-0-2",
    ]


@pytest.fixture
def transforming(place: Place) -> WorkerNodes:
    workers = Workers(
        [
            place.worker("producer-0", "producer", index=0),
            place.worker("transformer-0", "transformer", index=4001),
            place.worker("transformer-1", "transformer", index=4002),
        ]
    )
    return WorkerNodes(workers=workers, address="10.0.0.1", succeed=place.succeed)


def test_what_a_stopped_member_had_moves_when_another_one_is_told_that_it_has_it(
    transforming, place
):
    told = {
        name: Lines(place.folder / f"{name}.jsonl") for name in ("transformer-0", "transformer-1")
    }
    told["transformer-0"].write("assigned", text="0, 1")
    told["transformer-1"].write("assigned", text="2, 3")
    hit = [node(transforming, "transformer-0")]
    assert not transforming.partitions_moved(hit)

    told["transformer-1"].write("assigned", text="0, 1")
    assert transforming.partitions_moved(hit)

    transforming.signal(node(transforming, "transformer-1"), signal.SIGKILL)
    wait_until(lambda: len(transforming.living()) == 2, timeout_s=5, what="the end")
    assert not transforming.partitions_moved(hit)


def test_outputs_of_successors_stay_apart_from_inputs_of_successors(transforming):
    replaced(transforming, "transformer-0")
    replaced(transforming, "producer-0")
    replaced(transforming, "transformer-0-2")
    replaced(transforming, "producer-0-2")

    indexes = {w.name: w.spec["index"] for w in transforming.workers.ever}
    assert [0, 1, 2] == [indexes[f"producer-0{again}"] for again in ("", "-2", "-3")]
    assert [4001, 4003, 4004] == [indexes[f"transformer-0{again}"] for again in ("", "-2", "-3")]


def test_a_transformer_answers_to_the_load_and_is_none_of_it(transforming):
    """It has no share of what may be sent, counts for no trigger, and ends with the readers."""
    workers = transforming.workers
    producer, transformer, _ = workers.all
    for worker in (producer, transformer):
        worker.progress.sends = worker.progress.acked = worker.progress.last_ack_ns = 300
    transformer.progress.last_ack_ns = 400
    workers.hold_after(300)

    assert (producer,) == workers.producers
    assert ["transformer-0", "transformer-1"] == [worker.name for worker in workers.consumers]
    assert workers.consumers == workers.members
    assert (300, 300, 300) == (workers.acks(), workers.rounds(), workers.last_ack_ns())
    assert (300, -1) == (producer.progress.allowed, transformer.progress.allowed)
    assert workers.held(transformer)


def test_a_successor_is_of_the_kind_of_who_was_there_before(load):
    replaced(load, "producer-0")

    kinds = {each.name: each.worker for each in load.living()}
    assert kinds == {"producer-0-2": "producer", "producer-1": "producer", "consumer-0": "consumer"}


def test_who_was_killed_on_purpose_has_not_died_and_does_not_end_the_load(load):
    hit = node(load, "producer-0")
    load.signal(hit, signal.SIGKILL)
    wait_until(lambda: load.state(hit).pid is None, timeout_s=5, what="the end")

    assert load.workers.died() == []
    assert not load.workers.producers_ended()
    load.workers.producers[1].process.kill()
    load.workers.producers[1].process.wait()
    assert load.workers.died() == ["producer-1 (exit -9)"]


def test_what_was_sent_in_a_place_counts_against_its_share_of_the_limit(load):
    load.workers.producers[0].progress.sends = 300
    load.workers.hold_after(1000)
    replaced(load, "producer-0")
    successor, other = load.workers.producers

    assert (successor.progress.allowed, other.progress.allowed) == (200, 500)
    load.workers.hold_after(2000)
    assert (successor.progress.allowed, other.progress.allowed) == (700, 1000)
    load.workers.hold_after(None)
    assert successor.progress.allowed == -1
    assert load.workers.rounds() == 300


def test_a_successor_begins_when_it_is_ready_and_is_proved_when_acks_come(load):
    hit = replaced(load, "producer-0")
    successor = load.workers.producers[0]
    assert load.works(hit, since=0) is None
    assert not successor.released
    successor.messages.append({"event": "ready"})
    assert load.works(hit, since=0) is None
    assert successor.released
    successor.progress.acked = 1

    assert "producer-0-2 continues: sends are acknowledged" in str(load.works(hit, since=0))


def test_a_consumer_that_nothing_can_come_to_stands_ready(load):
    hit = replaced(load, "consumer-0")
    successor = load.workers.consumers[0]
    successor.messages.append({"event": "ready"})
    successor.progress.state = RUNNING
    load.workers.hold_after(100)
    assert load.works(hit, since=0) is None
    for producer in load.workers.producers:
        producer.progress.sends = 50

    assert "is ready, the load is paused" in str(load.works(hit, since=0))


def test_a_paused_worker_is_stopped_and_goes_on_past_what_it_had_done(load):
    hit = node(load, "consumer-0")
    load.signal(hit, signal.SIGSTOP)
    wait_until(lambda: load.state(hit).stopped, timeout_s=5, what="the stop")
    load.signal(hit, signal.SIGCONT)
    worker = load.workers.consumers[0]
    worker.messages.append({"event": "ready"})
    worker.progress.reads = 7

    assert load.progress(hit) == 7
    assert load.works(hit, since=7) is None
    assert load.works(hit, since=6)
    assert not worker.fault_ended


def test_who_has_ended_can_be_told_nothing_and_who_lives_needs_no_successor(load):
    hit = node(load, "consumer-0")
    with pytest.raises(ClusterError, match="still running"):
        load.start_node(hit)
    load.signal(hit, signal.SIGTERM)
    wait_until(lambda: load.state(hit).pid is None, timeout_s=5, what="the end")

    with pytest.raises(ClusterError, match="no process"):
        load.signal(hit, signal.SIGKILL)
    assert load.exited_early(hit) == "exit code -15"


def test_one_that_died_before_it_began_is_a_sentence_beside_its_log(place):
    dead = place.worker("producer-0", "producer")
    dead.log.write_text("%4|FAIL|rdkafka\nproducer-0: not ready for topic t\n")
    dead.process.kill()
    dead.process.wait()

    with pytest.raises(ClusterError) as failed:
        Workers([dead]).await_ready()
    assert str(failed.value) == "worker producer-0 died before it began: not ready for topic t"
    assert failed.value.log.startswith("%4|FAIL|")
