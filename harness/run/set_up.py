"""Sets a run up: starts every node, creates the topic, waits for a full ISR.

`closing` closes in reverse order what is opened here: it stops the watcher, then removes what the
run made in a cluster that goes on, then ends the nodes.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

from harness.cluster.admin.admin import Admin
from harness.cluster.backends import build, view_of
from harness.cluster.capabilities import (
    CannotPrepare,
    Cluster,
    Foreign,
    Preparable,
    client_settings,
)
from harness.cluster.nodes import ClusterError, brokers
from harness.cluster.view.state import TellsFeatures
from harness.cluster.view.watcher import Watcher
from harness.history.recorder import Lines
from harness.model.runs.run_record import NodeRecord, NodeSettings, RunRecord
from harness.nemesis.plan import prepared_for, requirements
from harness.run import topic, watermark_sampler
from harness.run.evidence.keeper import keeper_of
from harness.run.run_context import Run, Running
from harness.scenario.rules import setting_of

VIEW_LIMIT_S = 30.0
FULL_ISR_LIMIT_S = 60.0


def set_up(run: Run, closing: ExitStack) -> Running:
    """Start the cluster and create the topic. Raises ClusterError or WaitTimeout."""
    running = _start_cluster(run, closing)
    _create_topic(running, closing)
    _watch(running, closing)
    running.await_full_isr(FULL_ISR_LIMIT_S)
    if isinstance(running.cluster, Foreign):
        broker = brokers(running.cluster.nodes)[0]
        server = topic.settings_in_force(running.admin, running.scenario.topic, broker)
        run.folder.update(node_settings=NodeSettings(server=server))
    view, name = running.view.look_or_last(), running.scenario.topic.name
    run.folder.update(replicas=view.assignment)
    run.screen.say(
        f"topic {name}: leader {view.partitions[0].leader}, controller {view.controller}"
    )
    return running


def _start_cluster(run: Run, closing: ExitStack) -> Running:
    """Start and register every node, and connect a view and an admin client."""
    cluster = build(run.folder, run.record)
    closed = closing.enter_context(ExitStack())
    closing.callback(cluster.close)
    begin_s = time.monotonic()
    if isinstance(cluster, Preparable):
        prepare(cluster, run.record)
    cluster.start()
    _record_nodes(run, cluster)
    scenario = topic.with_own_topic(run.record.scenario, cluster, run.folder)
    view = view_of(cluster, scenario)
    view.follows_added = scenario.workload.use_added_partitions
    view.connect(timeout_s=run.deadline.within(VIEW_LIMIT_S))
    closing.callback(view.close)
    if isinstance(view, TellsFeatures):
        run.folder.update(features=view.features())
    run.screen.say(f"{len(cluster.nodes)} nodes up in {time.monotonic() - begin_s:.1f} s")
    admin = Admin(cluster.nodes, client_settings(cluster))
    return Running(
        run=run,
        scenario=scenario,
        cluster=cluster,
        view=view,
        admin=admin,
        keeper=keeper_of(run.folder, scenario, cluster, run.screen.say, closed),
    )


def prepare(cluster: Preparable, record: RunRecord) -> None:
    """Announce to the cluster what the plan needs. Raises ClusterError that names the faults whose
    needs it cannot meet."""
    setting = setting_of(record.scenario)
    try:
        cluster.prepare(requirements(record.plan, setting))
    except CannotPrepare as error:
        verbs = ", ".join(prepared_for(error.way, record.plan, setting))
        raise ClusterError(f"{verbs}: {error}") from None


def _record_nodes(run: Run, cluster: Cluster) -> None:
    run.folder.update(
        versions={**run.record.versions, **cluster.versions},
        nodes={
            node.name: NodeRecord(address=node.endpoint, role=node.role, id=node.id, rack=node.rack)
            for node in cluster.nodes
        },
    )


def _create_topic(running: Running, closing: ExitStack) -> None:
    """Create the topics, with their leaders where the scenario wants them."""
    run, scenario, admin = running.run, running.scenario, running.admin
    if isinstance(running.cluster, Foreign):
        closing.enter_context(topic.remove_at_end(admin, scenario, run.folder, run.screen.say))
    for part in topic.topics_of(scenario):
        if not isinstance(running.cluster, Foreign):
            topic.require_none(admin, part.name)
        topic.create(admin, part, running.cluster, running.view)


def _watch(running: Running, closing: ExitStack) -> None:
    """Record from now on what happens to the topic's partitions."""
    history = running.run.folder.history
    watcher = Watcher(running.view, Lines(history / "views.jsonl").write)
    watcher.start()
    closing.callback(watcher.close)
    if running.scenario.check.watermarks:
        closing.callback(watermark_sampler.follow(running.cluster, running.view, history))
