"""The verdict of a run: valid, invalid or unknown, and why.

**invalid**: an anomaly was seen that the configuration forbids, or a demand of the scenario is
broken for good. A proven loss stays proven, whatever else is not known, so invalid beats unknown.

**unknown**: something is missing without which "nothing found" proves nothing: no acks, a planned
fault that is not proved to have been in force and healed, an incomplete final read, a worker that
died or left no log, damage in the history, a run that did not end. A demand that is not met in such
a run is unknown as well: it might have been met by what nobody saw.

**valid**: neither. All functions are pure: facts of a run and counts in, words out.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.frames.load import Run, final_ends
from analysis.verdict.expectations import COUNTS, GAPS, ISR_TIMES, Demand
from analysis.verdict.promises import Promise
from harness.model.exit_codes import INVALID, UNKNOWN, VALID

EXIT_CODES = {"valid": VALID, "invalid": INVALID, "unknown": UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What an anomaly's count means in this run."""

    count: int
    promise: Promise
    demand: Demand | None
    demand_met: bool | None  # None: no demand, or it cannot be told

    @property
    def convicts(self) -> bool:
        """Whether it breaks a promise."""
        return self.promise.forbidden and self.count > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The longest window of a kind, or the times of every follower in or out of an ISR, against
    what was demanded of it."""

    longest_s: float
    demand: Demand
    met: bool | None  # None: it cannot be told
    shortest_s: float | None = None  # of several times, each of which must meet the demand
    seen: bool = True  # False: there is none of these times

    def told(self) -> str:
        """What was seen."""
        if not self.seen:
            return "none was seen"
        if self.shortest_s is None:
            return f"the longest lasted {self.longest_s:.1f} s"
        return f"they were {self.shortest_s:.1f} to {self.longest_s:.1f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A number of records that is no anomaly's, against what was demanded of it."""

    seen: int
    demand: Demand
    met: bool | None  # None: it cannot be told

    def told(self) -> str:
        """What was seen."""
        return f"{self.seen:,} {'was' if self.seen == 1 else 'were'} seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict with its reasons: of all convictions or, without any, of all doubts."""

    name: str
    reasons: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 valid, 1 invalid, 2 unknown."""
        return EXIT_CODES[self.name]


def judge(
    counts: Mapping[str, int],
    promised: Mapping[str, Promise],
    demands: Mapping[str, Demand],
    doubts: tuple[str, ...],
) -> dict[str, Judgement]:
    """Each anomaly's count against what was promised and demanded."""
    judgements = {}
    for anomaly, promise in promised.items():
        count, demand = counts.get(anomaly, 0), demands.get(anomaly)
        judgements[anomaly] = Judgement(
            count=count,
            promise=promise,
            demand=demand,
            demand_met=demand.met(count, known=not doubts) if demand else None,
        )
    return judgements


def judge_gaps(
    longest_s: Mapping[str, float], demands: Mapping[str, Demand], doubts: tuple[str, ...]
) -> dict[str, Gap]:
    """The demanded gaps, by their demand's name."""
    return {
        name: Gap(
            longest_s=longest_s[kind],
            demand=demands[name],
            met=demands[name].met(longest_s[kind], known=not doubts),
        )
        for name, kind in GAPS.items()
        if name in demands
    }


def judge_isr_times(
    absences: Sequence[Mapping[str, Any]],
    demands: Mapping[str, Demand],
    doubts: tuple[str, ...],
) -> dict[str, Gap]:
    """The demanded times of followers that left an ISR (analysis.measures.replication): each must
    meet the demand, and there must be one."""
    found = {}
    for name, key in ISR_TIMES.items():
        if name not in demands:
            continue
        demand, known = demands[name], not doubts
        times = [row[key] for row in absences if row[key] is not None]
        met = [demand.met(time, known=True) for time in times]
        sure = False if False in met else True if times and known else None
        found[name] = Gap(
            longest_s=max(times, default=0.0),
            shortest_s=min(times, default=0.0),
            seen=bool(times),
            demand=demand,
            met=False if known and not times else sure,
        )
    return found


def judge_counts(
    numbers: Mapping[str, Any], demands: Mapping[str, Demand], doubts: tuple[str, ...]
) -> dict[str, Counted]:
    """The demanded numbers of records that are no anomaly's, out of the report's `counts` and
    `replication`."""
    return {
        name: Counted(
            seen=numbers[key],
            demand=demands[name],
            met=demands[name].met(numbers[key], known=not doubts),
        )
        for name, key in COUNTS.items()
        if name in demands and key in numbers
    }


def decide(
    judgements: Mapping[str, Judgement],
    doubts: tuple[str, ...],
    gaps: Mapping[str, Gap | Counted] | None = None,
) -> Verdict:
    """The verdict over all anomalies, demanded gaps and doubts."""
    guilty = [
        f"{name}: {judgement.count:,} seen, and this configuration forbids any"
        for name, judgement in judgements.items()
        if judgement.convicts
    ]
    broken = [
        f'demanded {name} "{judgement.demand.text}", seen {judgement.count:,}'
        for name, judgement in judgements.items()
        if judgement.demand and judgement.demand_met is False
    ]
    broken += [
        f'demanded {name} "{gap.demand.text}", {gap.told()}'
        for name, gap in (gaps or {}).items()
        if gap.met is False
    ]
    if guilty or broken:
        return Verdict(name="invalid", reasons=(*guilty, *broken))
    return Verdict(name="unknown" if doubts else "valid", reasons=doubts)


def doubts(run: Run, counts: Mapping[str, int], unseen: int) -> tuple[str, ...]:
    """Why "nothing found" would prove nothing in this run; empty if it would."""
    return (
        *_run_doubts(run.record),
        *_load_doubts(run, counts),
        *(_watch_doubts(run) if run.watched else ()),
        *_fault_doubts(run),
        *_worker_doubts(run),
        *_final_read_doubts(run, unseen),
    )


def _run_doubts(record: Mapping[str, Any]) -> list[str]:
    state = record.get("state")
    if state == "complete":
        return []
    failure = record.get("failure") or {}
    if failure:
        return [f"the run failed in phase {failure['phase']}: {failure['error']}"]
    return [f"the run did not end: its state is {state}"]


def _load_doubts(run: Run, counts: Mapping[str, int]) -> list[str]:
    if not counts["sends"]:
        return ["nothing was sent"]
    if str(run.scenario["workload"]["producer"].get("acks", "all")) == "0":
        # No ack can come; what the final read found is the proof that sends arrived at all.
        return [] if counts["indeterminate_landed"] else ["no send arrived"]
    if not counts["acked"]:
        return ["no send was acknowledged"]
    if run.compared and "replicas-0" not in run.processes:
        return ["the replicas' logs were not compared"]
    if run.grouped and not counts["processed"]:
        return ["the consumer group processed nothing"]
    return []


def _watch_doubts(run: Run) -> list[str]:
    """Whether somebody looked at the replicas until the load ended, and saw watermarks."""
    seen = [r["time_ns"] for r in run.watermarks if r["in_isr"] and r["high_watermark"] is not None]
    if not seen:
        return ["the replicas' watermarks were not followed"]
    if (last_ns := max(seen)) < run.load_end_ns:
        return [f"the replicas' watermarks were followed until {run.seconds(last_ns):.1f} s only"]
    return []


def _fault_doubts(run: Run) -> list[str]:
    by_step = {fault["step"]: fault for fault in run.faults}
    reasons = []
    for step in run.record.get("plan") or []:
        name = f"fault {step['step']} ({step['verb']} {step['target']})"
        fault = by_step.get(step["step"])
        why = f": {fault['error']}" if fault and fault["error"] else ""
        if fault is None or not fault["nodes"]:
            reasons.append(f"{name} was planned and did not happen{why}")
        elif fault["ok_ns"] is None or not fault["evidence"]:
            reasons.append(f"{name} is not proved to have been in force{why}")
        elif fault["heal_ok_ns"] is None:
            reasons.append(f"{name} is not proved to have been healed{why}")
    return reasons


def _worker_doubts(run: Run) -> list[str]:
    meant = {name for fault in run.faults for name in fault["nodes"]}
    meant |= {w["process"] for w in run.record.get("workers") or [] if w.get("dies")}
    reasons = []
    for worker in run.record.get("workers") or []:
        name = worker["process"]
        if name not in run.processes:
            reasons.append(f"worker {name} left no history")
        elif worker.get("dies"):
            if worker.get("exit") != -signal.SIGKILL:
                reasons.append(f"worker {name} was to die {worker['dies']} and did not")
        elif worker.get("exit") and name not in meant:
            reasons.append(f"worker {name} ended with exit code {worker['exit']}")
    for finding in run.findings:
        kind, process = finding["kind"], finding["process"]
        if kind == "torn" or (kind == "no-end" and process in meant):
            continue
        reasons.append(f"history of {process}: {finding['text'] or kind}")
    return reasons


def _final_read_doubts(run: Run, unseen: int) -> list[str]:
    partitions = [end["partition"] for end in final_ends(run) if not end["complete"]]
    if partitions:
        which = ", ".join(map(str, partitions[:5])) + (", …" if len(partitions) > 5 else "")
        what = "partition" if len(partitions) == 1 else "partitions"
        return [f"the final read of {what} {which} is not complete"]
    if unseen:
        return [f"{unseen:,} acknowledged records were not found and cannot be looked up by offset"]
    return []
