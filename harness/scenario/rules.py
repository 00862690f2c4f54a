"""Rules of a scenario: what is impossible, each with its remedy.

Pure functions from a scenario to sentences; any sentence refuses the file.
"""

from __future__ import annotations

from harness.clients import defaults
from harness.cluster import broker_limits
from harness.cluster.client_security import is_secret
from harness.model.client_settings import acks_of, by_one_name
from harness.model.scenario import FaultPart, Scenario, WorkloadPart
from harness.model.spelling import did_you_mean
from harness.model.worker_kinds import can_be_hit, has_group, kind_named
from harness.nemesis.target import Setting
from harness.nemesis.targets import TARGETS, target_of
from harness.nemesis.verbs import VERBS
from harness.scenario.compaction import compacted_by, compaction_problems
from harness.scenario.entries import entry_name
from harness.scenario.kafka.modes import MINIMUM, counts_in
from harness.scenario.kafka.refused import release_problems
from harness.scenario.members import member_problems
from harness.scenario.overlaps import contradictions
from harness.scenario.programs import program_problems
from harness.scenario.timing import problems_of_times, timing_problems

# Demands on a consumer group whose members themselves say what to commit (analysis.checks.groups).
OF_COMMITS = frozenset({"commit-back", "zombie-commit"})
OF_TRANSACTIONS = frozenset(
    {"uncommitted-read", "torn", "hanging-transaction", "circular-flow", "stable-back"}
)
A_GROUP = "workload.group_consumers or workload.transformers"
OF_GROUPS = OF_COMMITS | {"skipped", "reprocessed", "two-owners", "unowned-partition"}
OF_TRANSFORMERS = frozenset({"no-output", "two-outputs"})


def problems(scenario: Scenario) -> list[str]:
    """Everything impossible about it; the first is enough to refuse it."""
    return [
        *_cluster_problems(scenario),
        *_secret_problems(scenario),
        *_client_problems(scenario),
        *compaction_problems(scenario),
        *problems_of_times(scenario),
        *_idempotence_problems(scenario),
        *_transaction_problems(scenario),
        *_group_problems(scenario),
        *_check_problems(scenario),
        *program_problems(scenario),
        *fault_problems(scenario),
    ]


def _cluster_problems(scenario: Scenario) -> list[str]:
    cluster, topic = scenario.cluster, scenario.topic
    problems = [*release_problems(cluster)]
    if topic.replication_factor > cluster.brokers:
        problems.append(
            f"topic.replication_factor is {topic.replication_factor} but cluster.brokers is "
            f"{cluster.brokers}: lower the one or raise the other"
        )
    problems += [
        *_replica_problems(scenario),
        *broker_limits.problems(cluster.server, cluster.broker),
    ]
    problems += [
        f"cluster.{section}.broker.rack puts all brokers into one rack, and cluster.racks into "
        "several: remove one of them"
        for section in ("server", "broker")
        if cluster.racks and "broker.rack" in getattr(cluster, section)
    ]
    if cluster.racks and scenario.workload.read_via == "follower":
        problems.append(
            'workload.read_via = "follower": a follower is found by a rack of its own: remove it, '
            "or cluster.racks"
        )
    if topic.placement == "kafka" and topic.leader != "any":
        problems.append(
            f'topic.leader is {topic.leader!r}, but with topic.placement = "kafka" Kafka says who '
            "leads: remove one of them"
        )
    kind = setting_of(scenario).kind_of(topic.leader)
    if topic.leader not in ("any", "controller", "not-controller") and kind != "broker":
        problems.append(
            f"topic.leader: {topic.leader!r} is unknown: use any, controller, "
            "not-controller or kafkaN"
        )
    return problems


def _replica_problems(scenario: Scenario) -> list[str]:
    """Numbers of replicas that the topic, or one of Kafka's own topics in use, cannot have."""
    cluster, topic, work = scenario.cluster, scenario.topic, scenario.workload
    problems = []
    of_nodes = {
        f"cluster.{section}": getattr(cluster, section)
        for section in ("server", "broker", "controller")
        if counts_in(section, MINIMUM, cluster)
    }
    for where, keys in {"topic.config": topic.config, **of_nodes}.items():
        minimum = keys.get(MINIMUM)
        if minimum is not None and not str(minimum).isdecimal():
            problems.append(f"{where}.{MINIMUM} is {minimum!r}, not a whole number")
        elif minimum is not None and int(minimum) > topic.replication_factor:
            begin = f"{where}.{MINIMUM} is {minimum} but topic.replication_factor is "
            if keys is topic.config or MINIMUM not in topic.config:
                problems.append(
                    f"{begin}{topic.replication_factor}: no send with acks=all could ever succeed"
                )
    used = {
        "offsets.topic": has_group(work) or bool(scenario.programs),
        "transaction.state.log": "transactional.id" in work.producer,
    }
    for name in (prefix for prefix, needed in used.items() if needed):
        key = f"{name}.replication.factor"
        replicas = str(cluster.of_brokers.get(key, 1))
        if replicas.isdecimal() and int(replicas) > cluster.brokers:
            problems.append(
                f"cluster.server.{key} is {replicas} but cluster.brokers is {cluster.brokers}: "
                f"nobody could ever be served: add --set cluster.server.{key}={cluster.brokers}"
            )
    return problems


def _secret_problems(scenario: Scenario) -> list[str]:
    work = scenario.workload
    both = {"producer": work.producer, "consumer": work.consumer}
    return [
        f"workload.{role}.{key}: TLS and SASL settings are not stored with a run: put the key into "
        "the file that backend.external.client (or backend.kubernetes.attach.client) names"
        for role, config in both.items()
        for key in config
        if is_secret(key)
    ]


def _transaction_problems(scenario: Scenario) -> list[str]:
    producer, consumer = scenario.workload.producer, scenario.workload.consumer
    asked = sorted(OF_TRANSACTIONS & scenario.expect.keys())
    if asked and "transactional.id" not in producer:
        return [
            f"expect.{asked[0]}: set workload.producer.transactional.id, or there is no "
            "transaction to check"
        ]
    if "circular-flow" in asked and not scenario.workload.transformers:
        return [
            "expect.circular-flow: set workload.transformers, or no transaction reads what another "
            "one sent"
        ]
    if consumer.get("isolation.level") != "read_uncommitted":
        return []
    return [
        f'expect.{demand}: set workload.consumer."isolation.level" = "read_committed", or aborted '
        "transactions are read, too"
        for demand in ("torn", "stable-back")
        if demand in asked
    ]


def _client_problems(scenario: Scenario) -> list[str]:
    producer = scenario.workload.producer
    if why := defaults.transaction_problem(producer):
        return [f"workload.producer: {why}"]
    for key in ("transaction_abort_every", "transaction_abort_share"):
        if getattr(scenario.workload, key) and "transactional.id" not in producer:
            return [
                f"workload.{key}: set workload.producer.transactional.id, or there is no "
                "transaction to abort"
            ]
    acks = acks_of(producer)
    if scenario.workload.kind == "write-read" and acks == "0":
        return [
            "workload.kind: write-read looks each record up after its ack, and with "
            'workload.producer.acks=0 none comes: set kind = "stream", or raise acks'
        ]
    if "unacknowledged-lost" in scenario.expect and acks != "0":
        return [
            f"expect.unacknowledged-lost: set workload.producer.acks=0; with acks={acks} "
            "records count as lost or indeterminate"
        ]
    return []


def _idempotence_problems(scenario: Scenario) -> list[str]:
    producer = scenario.workload.producer
    acks, idempotent = acks_of(producer), by_one_name(producer).get("enable.idempotence") is True
    if idempotent and acks != "all":
        return [
            f"workload.producer: enable.idempotence=true needs acks=all, but acks is {acks}: "
            "change one of them, as with --set producer.enable.idempotence=false"
        ]
    if idempotent and int(producer.get("retries", 1)) == 0:
        return ["workload.producer: enable.idempotence=true needs retries > 0"]
    return []


def _group_problems(scenario: Scenario) -> list[str]:
    work = scenario.workload
    if why := _members_problem(work) or _commit_problem(work) or next(member_problems(work), None):
        return [why]
    if work.dies and not has_group(work):
        return [f"workload.dies: set {A_GROUP}, or there is no member to kill"]
    if work.dies and work.dies_after * len(work.dies) >= work.stream_sends:
        return [
            f"workload.dies_after: {len(work.dies)} deaths after {work.dies_after:,} records "
            f"each, but the workload sends only {work.stream_sends:,.0f}"
        ]
    asked = sorted(OF_GROUPS & scenario.expect.keys())
    if asked and not has_group(work):
        return [f"expect.{asked[0]}: set {A_GROUP}, or there is no group to check"]
    made = sorted(OF_TRANSFORMERS & scenario.expect.keys())
    if made and not work.transformers and scenario.outputs is None:
        return [
            f"expect.{made[0]}: set workload.transformers or [outputs], or nobody makes anything "
            "of records"
        ]
    return [
        f'expect.{demand}: with workload.commit = "auto" nobody knows when a commit was begun; '
        'set it to "after" or "before"'
        for demand in asked
        if work.commit == "auto" and demand in OF_COMMITS
    ]


def _members_problem(work: WorkloadPart) -> str | None:
    """Why such a group cannot exist; None: no reason."""
    for key in ("group_consumers", "transformers"):
        if getattr(work, key) and work.kind != "stream":
            return f'workload.{key}: only kind = "stream" has a group'
    if work.group_consumers and work.transformers:
        return (
            "workload.transformers: they are the run's one group, so there can be no other members "
            "in it: remove workload.group_consumers"
        )
    return None


def _commit_problem(work: WorkloadPart) -> str | None:
    """Why members cannot commit in this way; None: no reason."""
    if work.commit == "transaction" and not work.transformers:
        return (
            'workload.commit: with "transaction" offsets go with outputs: set '
            "workload.transformers, or another time to commit"
        )
    if work.commit == "transaction" and "transactional.id" not in work.producer:
        return (
            'workload.commit: "transaction" needs a transaction: set '
            'workload.producer."transactional.id"'
        )
    if work.commit == "after" and work.transformers and acks_of(work.producer) == "0":
        return (
            'workload.commit: "after" awaits the acks of outputs, and with '
            "workload.producer.acks=0 none comes: raise acks"
        )
    return None


def _takes_offsets(scenario: Scenario) -> str | None:
    """What leaves offsets without a record; None: nothing."""
    if "transactional.id" in scenario.workload.producer:
        return "transactions take offsets of their own"
    return "the log is compacted" if compacted_by(scenario) else None


def _check_problems(scenario: Scenario) -> list[str]:
    """Demands on what would not be measured."""
    check, expect = scenario.check, scenario.expect
    if "diverged" in expect and not check.replicas:
        return ["expect.diverged: set check.replicas=true, or the replicas are not compared"]
    if "hole" in expect and (taken := _takes_offsets(scenario)):
        return [f"expect.hole: {taken}, so offsets without a record prove nothing; remove it"]
    watched = (
        "watermark-ahead",
        "early-read",
        "end-back",
        "watermark-back",
        "isr-leave-s",
        "isr-return-s",
        "kept-past-log-end",
        "lost-within-log-end",
    )
    return [
        f"expect.{name}: set check.watermarks=true, or the replicas are not sampled"
        for name in watched
        if name in expect and not check.watermarks
    ]


def fault_problems(scenario: Scenario) -> list[str]:
    """What is impossible about its faults."""
    problems = []
    drawn = scenario.mixed.faults if scenario.mixed else ()
    entries = [("faults", *entry) for entry in enumerate(scenario.faults)]
    entries += [("mixed.faults", *entry) for entry in enumerate(drawn)]
    for section, number, fault in entries:
        found = entry_problems(fault, scenario)
        if section == "faults" and fault.verb in VERBS:
            found += timing_problems(fault, scenario.workload, first=number == 0)
        problems += [f"{entry_name(section, number, fault)}: {problem}" for problem in found]
    if not problems:
        problems += contradictions(scenario.faults, setting_of(scenario))
    return [*problems, *_mixed_problems(scenario)]


def entry_problems(fault: FaultPart, scenario: Scenario) -> list[str]:
    """What is impossible about one fault, whenever it comes."""
    if fault.verb not in VERBS:
        return [f"verb: {fault.verb!r} is unknown{did_you_mean(fault.verb, VERBS)}"]
    return [
        *(f"options: {problem}" for problem in VERBS[fault.verb].problems(fault.options)),
        *target_problems(fault, scenario),
        *(f"until: {problem}" for problem in _until_problems(fault, scenario.workload)),
    ]


def _until_problems(fault: FaultPart, work: WorkloadPart) -> list[str]:
    """Why the event that ends it can never come: at most one reason."""
    if fault.until != "partitions-moved":
        return []
    kind = kind_named(fault.target)
    if kind is None or not kind.member:
        return [f'"{fault.until}" is awaited of one member of the consumer group, see {A_GROUP}']
    if kind.count(work) < 2:
        return [f'"{fault.until}": there is no other member: set workload.{kind.key} to 2 or more']
    return []


def target_problems(fault: FaultPart, scenario: Scenario) -> list[str]:
    """Why the verb cannot hit that target, here or anywhere: at most one reason."""
    verb, setting = VERBS[fault.verb], setting_of(scenario)
    target = target_of(fault.target, setting)
    if target is None:
        return [f"target: {fault.target!r} is unknown{did_you_mean(fault.target, TARGETS)}"]
    if target.kind == "zookeeper" and not setting.zookeepers:
        return [f"target: {target.name}: KRaft has no ZooKeeper: use quorum-leader and its like"]
    if why := target.impossible(setting):
        return [f"target: {target.name}: {why}"]
    if verb.targets and target.name not in verb.targets:
        return [f"target: {verb.name} takes {', '.join(verb.targets)}, not {target.name}"]
    if target.kind not in verb.hits:
        kinds = " or ".join(f"a {role}" for role in sorted(verb.hits))
        return [f"target: {verb.name} does not apply to {target.name}, only to {kinds}"]
    if not verb.problems(fault.options):  # these are reported by themselves
        why = verb.impossible(setting, target, verb.options.of(fault.options))
    return [f"verb: {verb.name}: {why}"] if why else []


def setting_of(scenario: Scenario) -> Setting:
    """The facts of a scenario that targets and verbs depend on."""
    work, cluster, topic = scenario.workload, scenario.cluster, scenario.topic
    pods = scenario.backend.kubernetes.attach.selectors
    beside_zookeeper = cluster.has_zookeeper and not pods.controllers
    return Setting(
        brokers=cluster.brokers,
        zookeepers=cluster.zookeepers if beside_zookeeper else 0,
        controllers=0 if beside_zookeeper else cluster.controllers,
        combined=cluster.kept_by == "kraft-combined"
        or bool(pods.controllers and pods.controllers == pods.brokers),
        dynamic=cluster.voters == "dynamic",
        elr=cluster.has_elr,
        partitions=topic.partitions,
        replicas=topic.replication_factor,
        workers=can_be_hit(work),
        programs={program.name: program.count for program in scenario.programs},
        transactions="transactional.id" in work.producer,
        racks=cluster.racks,
        any_broker=bool(
            scenario.backend.external.bootstrap or scenario.backend.kubernetes.attach.bootstrap
        ),
    )


def _mixed_problems(scenario: Scenario) -> list[str]:
    mixed, work = scenario.mixed, scenario.workload
    if mixed is None:
        return []
    if not mixed.faults:
        return ["mixed.faults: name at least one fault to draw from"]
    if mixed.until_s < mixed.period_s:
        return [f"mixed.until_s is {mixed.until_s:g}, shorter than mixed.period_s"]
    if work.kind == "stream" and mixed.until_s > work.duration_s:
        return [
            f"mixed.until_s is {mixed.until_s:g}, but workload.duration_s is "
            f"{work.duration_s:g}: raise the one or lower the other"
        ]
    return []
