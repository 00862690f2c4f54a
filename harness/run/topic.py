"""The run's topic, and that of its programs' outputs: creates them where the scenario wants them,
and removes them from a foreign cluster.

On a cluster that is not ours (`Foreign`) their names are the run's own, `<topic.name>-<run>`: the
run never writes to an existing topic, and removes its topics and consumer group at the end. Such a
topic keeps all its records unless the scenario says otherwise. The other settings that decide the
promises are read from the brokers into run.json as `node_settings`.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from harness.cluster.admin.admin import Admin, Resource
from harness.cluster.admin.topics import others_from, replica_assignment
from harness.cluster.capabilities import Cluster, Foreign
from harness.cluster.nodes import ClusterError, Node, brokers
from harness.cluster.view.state import BLIND, ClusterView
from harness.model.runs.run_folder import RunFolder
from harness.model.runs.run_record import ClusterRecord
from harness.model.scenario import Scenario, TopicPart
from harness.model.worker_kinds import has_group
from harness.run.load.worker_specs import group_of
from harness.waiting import wait_until

# A topic's setting -> the name that it has among a broker's.
DECIDING = {
    "min.insync.replicas": "min.insync.replicas",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
    "flush.messages": "log.flush.interval.messages",
}


def with_own_topic(scenario: Scenario, cluster: Cluster, folder: RunFolder) -> Scenario:
    """The scenario with the topic's final name and settings, which also go into run.json."""
    if not isinstance(cluster, Foreign):
        return scenario
    end = f"{folder.path.name}-{secrets.token_hex(2)}"
    name, outputs = f"{scenario.topic.name}-{end}", scenario.outputs
    config = {**cluster.topic_config, **scenario.topic.config}
    if outputs is not None and outputs.topic:
        own = {**cluster.topic_config, **outputs.config}
        outputs = outputs.model_copy(update={"topic": f"{outputs.topic}-{end}", "config": own})
    folder.update(
        cluster=(folder.read().cluster or ClusterRecord()).model_copy(
            update={
                "topic": name,
                "group": _group(scenario, folder),
                "outputs": outputs.topic if outputs else None,
            }
        )
    )
    topic = scenario.topic.model_copy(update={"name": name, "config": config})
    return scenario.model_copy(update={"topic": topic, "outputs": outputs})


def topics_of(scenario: Scenario) -> list[TopicPart]:
    """The topics that the run makes."""
    topic, outputs = scenario.topic, scenario.outputs
    if outputs is None or not outputs.topic:
        return [topic]
    own = {"name": outputs.topic, "partitions": outputs.partitions, "config": outputs.config}
    return [topic, topic.model_copy(update=own)]


def _group(scenario: Scenario, folder: RunFolder) -> str | None:
    """The consumer group of the run, if it has one."""
    return group_of(folder) if has_group(scenario.workload) else None


@contextmanager
def remove_at_end(
    admin: Admin, scenario: Scenario, folder: RunFolder, say: Callable[[str], None]
) -> Iterator[None]:
    """Remove what the run makes inside the block from a cluster that goes on, unless the run is to
    keep it. Raises ClusterError when the topic already exists."""
    for each in topics_of(scenario):
        if admin.topics.exists(each.name):
            raise ClusterError(
                f"topic {each.name} already exists and may be in use: set topic.name to another "
                "name"
            )
    try:
        yield
    except BaseException:
        with suppress(ClusterError):  # report why the run ended; run.json has the topic's name
            _remove(admin, scenario, folder, say)
        raise
    _remove(admin, scenario, folder, say)


def _remove(
    admin: Admin, scenario: Scenario, folder: RunFolder, say: Callable[[str], None]
) -> None:
    names = [each.name for each in topics_of(scenario)]
    if folder.read().keep:
        say(f"topic {', '.join(names)} is kept (--keep)")
        return
    try:
        for name in names:
            group = _group(scenario, folder) if name == names[0] else None
            for line in admin.topics.remove(name, group):
                say(line)
    except ClusterError as error:
        heal = f"`kafka-harness heal {shlex.quote(str(folder.path))} --down`"
        later = f"{error}; {heal} removes it later"
        say(later)
        raise ClusterError(later) from None


def require_none(admin: Admin, name: str) -> None:
    """Raise ClusterError where a cluster of the run's own already has the topic: its records would
    be another run's."""
    if admin.topics.exists(name):
        raise ClusterError(
            f"the cluster has a topic {name} before the run has made it: what a run before had on "
            "disk is there still; give the nodes volumes that go with each run"
        )


def create(admin: Admin, topic: TopicPart, cluster: Cluster, view: ClusterView) -> None:
    """Create the topic with its first leader where the scenario wants it. Raises ClusterError."""
    if topic.placement == "kafka":
        wanted = (topic.name, topic.partitions, topic.replication_factor, topic.config)
        admin.topics.create_anywhere(*wanted)
        return
    kafkas = brokers(cluster.nodes)
    admin.topics.create(
        topic.name,
        replica_assignment(
            [node.id for node in kafkas],
            _leader_wanted(topic, kafkas, view).id,
            topic.partitions,
            topic.replication_factor,
        ),
        topic.config,
    )


def _leader_wanted(topic: TopicPart, kafkas: tuple[Node, ...], view: ClusterView) -> Node:
    """The broker that `topic.leader` means; waits for a controller if it means one. A controller
    that is no broker leaves the choice open (harness.scenario.kafka.notes)."""
    by_name = {node.name: node for node in kafkas}
    if topic.leader not in ("controller", "not-controller"):
        return by_name.get(topic.leader, kafkas[0])
    name = str(wait_until(view.controller, timeout_s=60, what="a controller", ignoring=BLIND))
    if name not in by_name:
        return kafkas[0]
    # Begin after the controller: leaders go round the same way, so its replica is elected last.
    others = others_from(kafkas, by_name[name])
    return by_name[name] if topic.leader == "controller" or not others else others[0]


def settings_in_force(admin: Admin, topic: TopicPart, broker: Node) -> dict[str, str]:
    """The settings that decide the promises, under a broker's keys. Raises ClusterError."""
    of_topic = admin.settings(Resource(kind="topic", name=topic.name))
    deciding = {key: of_topic[name].value for name, key in DECIDING.items() if name in of_topic}
    of_broker = admin.settings(Resource(kind="broker", name=str(broker.id)))
    protocol = of_broker.get("inter.broker.protocol.version")
    deciding["inter.broker.protocol.version"] = protocol.value if protocol else None
    return {key: value for key, value in deciding.items() if value is not None}
