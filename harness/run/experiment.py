"""The parts of one run and what each phase does with them; `harness.run` tells the story.

Parts close in reverse order of their making, on every way out: faults are healed first, then the
workers end, then ZooKeeper is no longer watched, then the nodes go.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, cast

from harness.clients import defaults
from harness.cluster.admin import Admin
from harness.cluster.backends import build, view_of
from harness.cluster.capabilities import Cluster, Dumps, Foreign, Preparable, client_settings
from harness.cluster.nodes import ClusterError, brokers
from harness.cluster.view.coordinators import Coordinated
from harness.cluster.view.state import ClusterView
from harness.cluster.view.watcher import Watcher
from harness.history.recorder import Lines
from harness.model.run_folder import RunFolder
from harness.model.run_record import RunRecord
from harness.nemesis.conductor import Conductor
from harness.nemesis.undo_record import Undo
from harness.nemesis.verbs import requirements
from harness.run import replica_dumps, watermark_sampler
from harness.run import topic as topics
from harness.run.load import workers as load
from harness.run.load.worker_nodes import WorkerNodes
from harness.run.load.workers import Worker, Workers
from harness.run.screen import Screen, Status
from harness.waiting import Deadline, WaitTimeout, wait_until

RECOVERY_LIMIT_S = 120.0
CATCH_UP_LIMIT_S = 15.0
END_MARGIN_S = 30.0
STABLE_LOOKS = 3


@dataclass(kw_only=True)
class Experiment:
    """A run in progress. A context manager: leaving it closes whatever was opened."""

    folder: RunFolder
    record: RunRecord
    screen: Screen
    _parts: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.scenario = self.record.scenario
        self.steps = list(self.record.plan)
        self.deadline = Deadline(self.record.time_limit_s)
        self.cluster: Cluster
        self.view: ClusterView
        self.admin: Admin
        self.workers: Workers
        self.conductor: Conductor

    def __enter__(self) -> Experiment:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Heal, end the workers, close the cluster; safe to call twice."""
        self._parts.close()

    # Set-up

    def start_cluster(self) -> None:
        """Every node up and registered; ZooKeeper can be asked."""
        self.cluster = build(self.folder, self.record)
        self._parts.callback(self.cluster.close)
        begin_s = time.monotonic()
        if isinstance(self.cluster, Preparable):
            self.cluster.prepare(requirements(self.steps))
        self.cluster.start()
        self.folder.update(
            versions={**self.record.versions, **self.cluster.versions},
            nodes={
                n.name: {"address": n.endpoint, "role": n.role, "id": n.id}
                for n in self.cluster.nodes
            },
        )
        self.scenario = topics.own(self.scenario, self.cluster, self.folder)
        topic = self.scenario.topic
        self.view = view_of(self.cluster, topic.name, topic.partitions)
        self.view.connect(timeout_s=self.deadline.within(30))
        self._parts.callback(self.view.close)
        self.screen.say(f"{len(self.cluster.nodes)} nodes up in {time.monotonic() - begin_s:.1f} s")

    def create_topic(self) -> None:
        """The topic, with its leader where the scenario wants it, and every replica in the ISR."""
        topic = self.scenario.topic
        self.admin = Admin(self.cluster.nodes, client_settings(self.cluster))
        if isinstance(self.cluster, Foreign):
            self._parts.enter_context(
                topics.on_loan(self.admin, self.scenario, self.folder, self.screen.say)
            )
        topics.create(self.admin, topic, self.cluster, self.view)
        watcher = Watcher(self.view, Lines(self.folder.history / "views.jsonl").write)
        watcher.start()
        self._parts.callback(watcher.close)
        if self.scenario.check.watermarks:
            self._parts.callback(
                watermark_sampler.follow(self.cluster, self.view, self.folder.history)
            )
        self._await_full_isr(60.0)
        if isinstance(self.cluster, Foreign):
            server = topics.settings_in_force(self.admin, topic, brokers(self.cluster.nodes)[0])
            self.folder.update(node_settings={"server": server, "zoo": {}})
        view = self.view.look_or_last()
        self.screen.say(
            f"topic {topic.name}: leader {view.partitions[0].leader}, controller {view.controller}"
        )

    # Load

    def start_workers(self) -> None:
        """Start the scenario's workers and wait until each has seen the topic."""
        work = self.scenario.workload
        if work.kind == "write-read":
            specs = [("write_read", "write-read", self._write_read_spec())]
        else:
            specs = [
                (
                    "producer",
                    "producer",
                    self._spec(f"producer-{i}", defaults.of_one(work.producer, i), index=i),
                )
                for i in range(work.producers)
            ]
            specs += [
                ("consumer", "consumer", self._spec(f"consumer-{i}", work.consumer))
                for i in range(work.consumers)
            ]
            specs += [
                ("group_consumer", "group-consumer", self._member_spec(f"group-consumer-{i}", i))
                for i in range(work.group_consumers)
            ]
        self.workers = Workers([])
        for module, role, spec in specs:
            self.workers.add(self._spawn(module, role, spec))
        self._parts.callback(lambda: self.workers.end(self.workers.all, END_MARGIN_S))
        self.workers.await_ready()

    def _spawn(self, module: str, role: str, spec: dict[str, Any]) -> Worker:
        worker = load.spawn(
            self.cluster, module=module, role=role, spec=spec, folder=self.folder.logs
        )
        self._parts.callback(worker.kill)
        return worker

    def _succeed(self, worker: Worker, changes: Mapping[str, Any]) -> Worker:
        """Start a worker in the place of one that has ended."""
        spec = {**worker.spec, "limit_s": self.deadline.within(), **changes}
        return self._spawn(worker.module, worker.role, spec)

    def _spec(self, name: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
        topic, work = self.scenario.topic, self.scenario.workload
        bootstrap = ",".join(node.endpoint for node in brokers(self.cluster.nodes))
        return {
            "run_id": self.folder.run_id,
            "process": name,
            "history": str(self.folder.history),
            "topic": topic.name,
            "partitions": topic.partitions,
            "config": {**config, "bootstrap.servers": bootstrap},
            "flush_s": self._flush_s(),
            "limit_s": self.deadline.within(),
            **work.model_dump(exclude={"kind", "producer", "consumer", "dies"}),
            **more,
        }

    def _member_spec(self, name: str, index: int) -> dict[str, Any]:
        """A member of the run's one group; the first of them dies first."""
        work = self.scenario.workload
        dies = work.dies[0] if work.dies and index == 0 else ""
        return self._spec(name, work.consumer, group=topics.group_of(self.folder), dies=dies)

    def _write_read_spec(self) -> dict[str, Any]:
        """The study's worker: its consumer knows one broker only, which is not the leader, if there
        is another."""
        work = self.scenario.workload
        leader = self.view.look().partitions[0].leader
        kafkas = brokers(self.cluster.nodes)
        follower = next((node for node in kafkas if node.name != leader), kafkas[0])
        consumer = {**work.consumer, "bootstrap.servers": follower.endpoint}
        if work.read_via == "follower":
            consumer["client.rack"] = follower.name
        return self._spec(
            "write-read-0",
            defaults.of_one(work.producer, 0),
            index=0,
            consumer_config=consumer,
            read_bootstrap=follower.endpoint,
        )

    def _flush_s(self) -> float:
        """As long as a send may take, so that each one's end is seen."""
        return float(self.scenario.workload.producer.get("message.timeout.ms", 30000)) / 1000 + 5

    def warm_up(self) -> None:
        """Let the workers go and wait until each producer's first send has ended and is read.

        A fresh topic's followers can take a second to begin to fetch, and no record can be read
        before; the load, its plan and its windows begin when the paths are open. On a busy host
        such a second may be enough to leave the ISR for a moment: it is full when the load begins.
        """
        for worker in self.workers.all:
            worker.go()
        self._await(self._paths_open, "the first sends to end and to be read", 60.0)
        self._await_full_isr(60.0)

    def _paths_open(self) -> bool:
        if died := self.workers.died():
            raise ClusterError(f"worker {', '.join(died)} died")
        sent = all(
            w.progress.acked + w.progress.failed + w.progress.info > 0
            for w in self.workers.producers
        )
        members = self.workers.members
        joined = not members or any(w.progress.reads > 0 for w in members)
        return sent and joined and all(w.progress.reads > 0 for w in self.workers.readers)

    def load_line(self) -> str:
        """What the load is, in a line for the user."""
        work = self.scenario.workload
        if work.kind == "write-read":
            return f"{work.rounds:,} rounds of write and read, {len(self.steps)} faults planned"
        return (
            f"{work.producers} x {work.rate:g} sends/s for {work.duration_s:g} s, "
            f"{work.consumers} consumers, {len(self.steps)} faults planned"
        )

    def load(self) -> None:
        """Conduct the plan while the workers work, and return when both have ended."""
        self.conductor = Conductor(
            steps=self.steps,
            cluster=self.cluster,
            view=self.view,
            load=self.workers,
            replicas=self.scenario.topic.replication_factor,
            write=Lines(self.folder.history / "nemesis.jsonl").write,
            tell=lambda line: self.screen.say(line, style="yellow"),
            undo=Undo(self.folder.path),
            clients=WorkerNodes(
                workers=self.workers, address=self.cluster.client_address, succeed=self._succeed
            ),
            coordinated=self._coordinated(),
        )
        self._parts.callback(self.conductor.stop)
        begin_ns = time.monotonic_ns()
        self.conductor.start(begin_ns)
        with self.screen.live():
            self._await(lambda: self._load_over(begin_ns), "the load and its faults to end")
        self._end_of_load()

    def _coordinated(self) -> dict[Coordinated, str]:
        """The names by which the workload's coordinators are found."""
        work, names = self.scenario.workload, dict[Coordinated, str]()
        if self.workers.members:
            names["group"] = topics.group_of(self.folder)
        elif self.workers.readers:
            own = f"{self.folder.run_id}/{self.workers.readers[0].name}"
            names["group"] = str(work.consumer.get("group.id", own))
        if first := defaults.transactional_id(work.producer, 0):
            names["transaction"] = first
        return names

    def _load_over(self, begin_ns: int) -> bool:
        self._show(begin_ns)
        self._succeed_the_dead()
        if died := self.workers.died():
            raise ClusterError(f"worker {', '.join(died)} died")
        if self.conductor.failure:
            raise ClusterError(f"the nemesis could not go on: {self.conductor.failure}")
        producers_ended = self.workers.producers_ended()
        if self.scenario.workload.kind == "write-read":
            return producers_ended
        lasted_s = (time.monotonic_ns() - begin_ns) / 1e9
        return producers_ended or (
            lasted_s >= self.scenario.workload.duration_s and self.conductor.done()
        )

    def _succeed_the_dead(self) -> None:
        """Start a successor of a member that has ended itself as planned, with the next death."""
        deaths = self.scenario.workload.dies
        for dead in filter(Worker.died_as_planned, self.workers.members):
            died = sum(worker.died_as_planned() for worker in self.workers.ever)
            dies = deaths[died] if died < len(deaths) else ""
            successor = self._succeed(dead, {**self.workers.heir_of(dead), "dies": dies})
            self.workers.add(successor)
            successor.go()
            self.screen.say(
                f"{dead.name} ended itself {dead.dies}; {successor.name} takes its place",
                style="yellow",
            )

    def _end_of_load(self) -> None:
        """Producers first, then the plan's last healing, then consumers that have caught up."""
        self.workers.end(self.workers.producers, self._flush_s() + END_MARGIN_S)
        self._await(self.conductor.done, "the last fault to be healed")
        if self.conductor.failure:
            raise ClusterError(f"the nemesis could not go on: {self.conductor.failure}")
        self.workers.end(self.workers.producers, self._flush_s() + END_MARGIN_S)  # late successors
        if self.workers.consumers:
            self._await_catch_up()
            self.workers.end(self.workers.consumers, END_MARGIN_S)
        self.folder.update(workers=self.workers.as_record())
        if died := self.workers.died():
            raise ClusterError(f"worker {', '.join(died)} died")

    def _await_catch_up(self) -> None:
        """Until no consumer reads anything new; what they never read shows in the final read."""
        counts: list[int] = []

        def still() -> bool:
            counts.append(self.workers.reads())
            return len(counts) > 10 and counts[-1] == counts[-10]

        try:
            wait_until(still, timeout_s=CATCH_UP_LIMIT_S, what="consumers to catch up", every_s=0.1)
        except WaitTimeout:
            self.screen.say("consumers are still reading; going on")

    def _show(self, begin_ns: int) -> None:
        now, last = time.monotonic_ns(), self.workers.last_ack_ns()
        self.screen.show(
            Status(
                elapsed_s=(now - begin_ns) / 1e9,
                sends=self.workers.rounds(),
                acks=self.workers.acks(),
                reads=self.workers.reads(),
                errors=self.workers.errors(),
                gap_s=(now - last) / 1e9 if last else None,
                in_force=tuple(self.conductor.in_force.values()),
            )
        )

    # Afterwards

    def await_recovery(self) -> None:
        """A leader and a full ISR everywhere, log ends that no longer move, no open transaction.

        Earlier the high watermark can lag, and acked records would look lost that are not.
        """
        self._await_full_isr(RECOVERY_LIMIT_S)
        ends: list[Any] = []

        def stable() -> bool:
            topic = self.scenario.topic
            ends.append(self.admin.log_ends(topic.name, topic.partitions))
            newest = ends[-STABLE_LOOKS:]
            return len(newest) == STABLE_LOOKS and None not in newest and len(set(newest)) == 1

        self._await(
            stable, "log ends to be stable and no transaction open", RECOVERY_LIMIT_S, every_s=0.1
        )

    def final_read(self) -> None:
        """Read every partition from log start to log end by a fresh consumer."""
        spec = self._spec("final-read-0", self.scenario.workload.consumer)
        reader = self._spawn("final_read", "final-read", spec)
        self._await(reader.is_ready, "the final read to begin", load.READY_LIMIT_S)
        reader.go()
        self._await(reader.ended, "the final read to end")
        self.folder.update(workers=[*self.workers.as_record(), reader.as_record()])
        if reader.process.returncode != 0:
            raise ClusterError(f"the final read died (exit {reader.process.returncode})")
        if self.scenario.check.replicas:
            replica_dumps.record(
                cast(Dumps, self.cluster),
                brokers(self.cluster.nodes),
                self.view.topic,
                self.view.partitions,
                self.folder.history,
            )

    def _await_full_isr(self, limit_s: float) -> None:
        self._await(self._recovered, "every ISR to be full", limit_s)

    def _recovered(self) -> str | None:
        return self.view.recovered(self.scenario.topic.replication_factor)

    def _await(
        self, condition: Any, what: str, limit_s: float | None = None, every_s: float = 0.05
    ) -> None:
        """Wait within the run's own limit as well; the message says which of the two it was."""
        within = self.deadline.within(limit_s)
        try:
            wait_until(condition, timeout_s=within, what=what, every_s=every_s)
        except WaitTimeout as error:
            if self.deadline.within() > 0:
                raise
            limit = self.record.time_limit_s
            raise WaitTimeout(f"the time limit of {limit:g} s passed: {error}") from None
