"""Whether writes stayed available while faults were in force: the A of CAP (docs/anomalies.md).

A *gap* is an unavailability window of writes during which a fault at the cluster was in force: from
its injection until its healing began. The last gap of each partition decides, and a run is A if
every partition is; one without a gap is.

    kafka1 leads, killed at 3 s, healing from 9 s on   acks again at 6 s               =>  A
    the same, kafka2 leads at 8.9 s                    acks again at 9.2 s             =>  A
    the same, kafka1 leads again                       acks again at 9.2 s             =>  not A
    the same, session of 18 s                          acks again at 9.2 s             =>  no letter

Acks that return after a healing has begun count if nothing waited for it: by then the partition had
a leader that no fault had hit and, with acks=all, a large enough ISR of such brokers. A broker that
the healing frees without a restart may take over from another. Nothing waits for a healing that
undoes nothing, such as that of an election.

A healing that began before Kafka could have gone on without it proves nothing. Kafka removes a
broker when its session ends, and with acks=all a replica that links keep from fetching within 1.5
times `replica.lag.time.max.ms`. The session is with ZooKeeper; with KRaft it is with the active
controller, and if that was hit as well it begins anew with the next one, after its election. All
these times are settings of the nodes.

Cannot see: reads; a gap shorter than `check.unavailability_threshold_ms`; a partition without
writes; whether clients could have found the new leader sooner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from analysis.causes.run_facts.configuration import lag_max_ms
from analysis.causes.run_facts.faults import Happened
from analysis.causes.run_facts.kafka import Kafka, kafka_of
from analysis.causes.states import Partition, State, partitions_of
from analysis.stored.settings import Settings
from analysis.stored.stored_run import Run
from analysis.stored.table_rows import Fault
from harness.model.effects import Effects

if TYPE_CHECKING:  # it imports Spark, which who asks for POSITIONS alone need not wait for
    from analysis.measures.windows import WindowRow

Row = Mapping[str, Any]
POSITIONS = ("CP", "AP", "both", "neither", "unknown")
_BY_LETTERS: Mapping[tuple[Any, Any], str] = {
    (False, True): "CP",
    (True, False): "AP",
    (True, True): "both",  # CA in a report
    (False, False): "neither",
}
CHECKED_EVERY = 1.5  # the ISR is checked every half of replica.lag.time.max.ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Whether writes stayed available (None: it cannot be told), in words."""

    value: bool | None
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A stretch without acks, the faults in force in it, and when Kafka gives up whom they hit."""

    window: WindowRow
    faults: Sequence[Fault]

    @property
    def acked_ns(self) -> int | None:
        """When an ack returned; None: not before the load ended."""
        at_ns: int | None = self.window["next_success_ns"]
        return at_ns

    @property
    def cause(self) -> Fault:
        """The fault injected nearest to its start."""
        start_ns = self.window["start_ns"]
        return min(self.faults, key=lambda fault: abs(int(fault["invoke_ns"]) - start_ns))

    def healings(self, until_ns: int) -> list[int]:
        """When its faults began to be healed, in order of time."""
        begun = (fault["heal_invoke_ns"] for fault in self.faults)
        return sorted(at_ns for at_ns in begun if at_ns is not None and at_ns <= until_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What of a run decides who may take writes."""

    happened: Happened
    kafka: Kafka
    partitions: Sequence[Partition]
    server: Settings
    acks: str
    min_isr: int
    load_end_ns: int

    def give_up_ns(self, fault: Fault) -> int:
        """How long Kafka may wait for whom a fault hit, before it goes on without."""
        effects = self.effects(fault)
        links = effects.leadership == "anywhere" and not effects.ends_processes
        lag_ms = CHECKED_EVERY * lag_max_ms(self.server) if links and self.acks == "all" else 0.0
        session_ms = self.kafka.session_ms(self.server)
        if self._controls(fault):
            session_ms += self.kafka.new_controller_ms()
        return int(max(session_ms, lag_ms) * 1e6)

    def _controls(self, fault: Fault) -> bool:
        """Whether it hit who was the controller, of any partition's view of it."""
        states = (partition.at(fault["invoke_ns"]) for partition in self.partitions)
        return any(state and state.controller in fault["nodes"] for state in states)

    def effects(self, fault: Fault) -> Effects:
        """What a fault could do; nothing where that is not known."""
        return self.happened.effects(fault) or Effects()


def availability(run: Run, windows: Sequence[WindowRow], acks: str) -> Availability:
    """The A of a run whose faults are all proved. `windows`: those of analysis.measures.windows."""
    kafka = kafka_of(run.record)
    happened = Happened.of(run.faults, run.plan, run.nodes, kafka.quorum)
    faults = [fault for fault in run.faults if _disturbs(fault, happened, run.plan)]
    if not faults:
        return Availability(value=None)  # nothing was parted from anything
    if acks == "0":
        return Availability(value=None, words="with acks=0 nobody knows when writes stopped")
    topic, server = run.scenario["topic"], run.node_settings["server"]
    cluster = Cluster(
        happened=happened,
        kafka=kafka,
        partitions=partitions_of(run.views, run.blind, run.partitions),
        server=server,
        acks=acks,
        min_isr=kafka.min_isr(server, topic["config"]),
        load_end_ns=run.load_end_ns,
    )
    gaps = _gaps_during(windows, faults)
    answers = [_after(gap, cluster) for gap in last_gaps(windows, faults)]
    return _worst(answers, cluster, [(w["end_ns"] - w["start_ns"]) / 1e9 for w in gaps])


def _gaps_during(windows: Sequence[WindowRow], faults: Sequence[Fault]) -> list[WindowRow]:
    """The stretches without acks in which a fault was in force."""
    mine = [window for window in windows if window["kind"] == "produce"]
    return [window for window in mine if any(_in_force(fault, window) for fault in faults)]


def last_gaps(windows: Sequence[WindowRow], faults: Sequence[Fault]) -> list[Gap]:
    """The last gap of each partition that has one."""
    last: dict[int, Gap] = {}
    for window in sorted(_gaps_during(windows, faults), key=lambda row: row["start_ns"]):
        during = [fault for fault in faults if _in_force(fault, window)]
        last[window["partition"]] = Gap(window=window, faults=during)
    return list(last.values())


def _in_force(fault: Fault, window: WindowRow) -> bool:
    """Whether it was in force, and not being healed yet, at any time of the window."""
    begun_ns = fault["heal_invoke_ns"]
    return bool(fault["invoke_ns"] < window["end_ns"]) and (
        begun_ns is None or bool(begun_ns > window["start_ns"])
    )


def _disturbs(fault: Fault, happened: Happened, plan: Sequence[Row]) -> bool:
    """Whether it does something to the cluster: not one at clients, none that only observes."""
    effects = happened.effects(fault)
    told = next((step.get("telling") for step in plan if step["step"] == fault["step"]), None)
    observes = told is not None and not told["done"]
    return bool(fault["nodes"]) and not observes and not (effects and effects.clients_only)


def _worst(
    answers: Sequence[Availability], cluster: Cluster, gaps_s: Sequence[float]
) -> Availability:
    """All partitions' together; with the lengths of all their gaps."""
    stopped = [each for each in answers if each.value is False]
    if stopped:
        of = len(cluster.partitions)
        where = "" if len(stopped) == of else f"in {len(stopped)} of {of} partitions "
        return Availability(value=False, words=f"no write accepted {where}{stopped[0].words}")
    unknown = [each for each in answers if each.value is None]
    if unknown:
        return unknown[0]
    if not gaps_s:
        return Availability(value=True, words="stayed available")
    which = (
        f"a gap of {gaps_s[0]:.1f} s" if len(gaps_s) == 1 else f"gaps of up to {max(gaps_s):.1f} s"
    )
    return Availability(value=True, words=f"available after {which}")


def _after(gap: Gap, cluster: Cluster) -> Availability:
    """Whether writes came back by themselves; if not, with what, as the end of a sentence."""
    if undone := [fault for fault in gap.faults if not cluster.effects(fault).permanent]:
        gap = replace(gap, faults=undone)
    elif gap.acked_ns is not None:
        return Availability(value=True)
    begun_ns, give_up_ns = gap.cause["invoke_ns"], cluster.give_up_ns(gap.cause)
    until_ns = cluster.load_end_ns if gap.acked_ns is None else gap.acked_ns
    healings = gap.healings(until_ns)
    for healing_ns in healings:
        if gap.acked_ns is not None and _taken_over(gap, healing_ns, cluster):
            return Availability(value=True)
        if healing_ns - begun_ns >= give_up_ns:
            return Availability(value=False, words=_until(gap, cluster))
    if len(healings) < len(gap.faults):  # some are in force still
        if gap.acked_ns is not None and (not healings or _taken_over(gap, until_ns, cluster)):
            return Availability(value=True)
        if gap.acked_ns is None and until_ns - begun_ns >= give_up_ns:
            return Availability(value=False, words=_until(gap, cluster))
    had_s = ((healings[-1] if healings else until_ns) - begun_ns) / 1e9
    ended = "the fault's healing began" if healings else "the load ended"
    why = f"{ended} after {had_s:.1f} s, before a failover can end ({give_up_ns / 1e9:g} s)"
    return Availability(value=None, words=why)


def _taken_over(gap: Gap, time_ns: int, cluster: Cluster) -> bool:
    """Whether the partition could take writes without any that a fault had hit, when the last look
    had not seen what came after `time_ns`."""
    partition = cluster.partitions[gap.window["partition"]]
    state = _state(partition, time_ns)
    if state is None or state.leader is None:
        return False
    hit = {
        name
        for fault in gap.faults
        for name in fault["nodes"]
        if fault["heal_invoke_ns"] is None
        or fault["heal_invoke_ns"] >= time_ns
        or cluster.effects(fault).ends_processes
    }
    healed = {name for fault in gap.faults for name in fault["nodes"]} - hit
    if state.leader in hit or (state.leader in healed and state.leader == _before(gap, cluster)):
        return False
    whole = not state.isr & hit and len(state.isr) >= cluster.min_isr
    return whole or cluster.acks != "all"


def _state(partition: Partition, time_ns: int) -> State | None:
    """What may have been so already: the look before the one that showed it was earlier."""
    return next((s for s in reversed(partition.states) if s.since_ns < time_ns), None)


def _before(gap: Gap, cluster: Cluster) -> str | None:
    """Who led when the gap's cause was injected."""
    state = cluster.partitions[gap.window["partition"]].at(gap.cause["invoke_ns"])
    return state.leader if state else None


def _until(gap: Gap, cluster: Cluster) -> str:
    """With what writes came back."""
    if gap.acked_ns is None:
        return "until the load ended"
    before = _before(gap, cluster)
    after = cluster.partitions[gap.window["partition"]].at(gap.acked_ns)
    ended = (fault for fault in gap.faults if cluster.effects(fault).ends_processes)
    if after and after.leader == before and any(before in fault["nodes"] for fault in ended):
        return "until the leader came back"
    return f"before the healing of the fault{'s' if len(gap.faults) > 1 else ''} began"


def position_of(cap: Mapping[str, Any]) -> str:
    """Where a run stood between consistent and available, by the `cap` of a report: one of
    POSITIONS, unknown where a letter is.

    CP kept what it acknowledged and stopped accepting writes until the fault was healed, AP went on
    and lost some, *both* went on and lost nothing, *neither* stopped and lost some.
    """
    letters = cap.get("available"), cap.get("consistent")
    known = all(isinstance(letter, bool) for letter in letters)
    return _BY_LETTERS[letters] if known else "unknown"
