"""The plan: the timed steps that follow from the scenario's faults and the seed, as plain data.

    two faults, the first of them twice:    step 0: kill leader after 500 rounds
                                            step 1: kill leader after 1,500 rounds
                                            step 2: pause follower at 3 s, for 1 s

A pure function: same faults and seed, same plan, byte for byte. Steps of one fault entry form a
*series* and follow one another; each waits until the one before is healed and the ISR is full.
Different series may overlap. Each step carries what its verb can do to its target, and its words
in reports, so that a stored run is judged by what was known when it was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeVar

from harness.cluster.capabilities import Requirements
from harness.model.plan import Step
from harness.model.scenario import FaultPart, MixedPart
from harness.nemesis.target import Setting
from harness.nemesis.targets import target_of
from harness.nemesis.verbs import VERBS, Verb

Planned = TypeVar("Planned", Step, FaultPart)


def make(
    faults: Sequence[FaultPart],
    seed: int,
    mixed: MixedPart | None = None,
    *,
    setting: Setting,
) -> tuple[Step, ...]:
    """The steps of a run, series by series; what is drawn at random comes last."""
    random = Random(seed)  # noqa: S311  reproducible on purpose, no secret
    steps: list[Step] = []
    for series, fault in enumerate(faults):
        unit, first = fault.first
        for repeat in range(fault.times):
            steps.append(
                Step(
                    step=len(steps),
                    series=series,
                    verb=fault.verb,
                    target=fault.target,
                    unit=unit,
                    when=fault.when,
                    at=first if fault.when else first + repeat * fault.period,
                    for_s=fault.for_s,
                    until=fault.until,
                    options=dict(fault.options),
                    seed=random.getrandbits(48),
                )
            )
    if mixed is not None:
        steps += _drawn(mixed, Random(f"mixed {seed}"), len(steps), len(faults))  # noqa: S311
    return tuple(_with_effects(step, setting) for step in steps)


def _with_effects(step: Step, setting: Setting) -> Step:
    """The step with its verb's effects and words. Raises KeyError for an unknown verb or target."""
    verb, target = VERBS[step.verb], target_of(step.target, setting)
    if target is None:
        raise KeyError(step.target)
    facts = {"effects": verb.effects_at(target, step.options), "telling": verb.telling(target)}
    return step.model_copy(update=facts)


def requirements(steps: Iterable[Step], setting: Setting) -> Requirements:
    """What a plan needs of a cluster; faults of workers need nothing of it."""
    hit = hitting_nodes(steps, setting)
    return Requirements(
        capabilities=frozenset(need for verb, _ in hit for need in verb.needs),
        ways=frozenset(verb.prepares for verb, _ in hit if verb.prepares),
        ends=frozenset(end for verb, step in hit for end in verb.ends(step.options)),
    )


def prepared_for(way: str, steps: Iterable[Step], setting: Setting) -> list[str]:
    """The plan's verbs for which nodes are started in that way, each once, in the plan's order."""
    hit = hitting_nodes(steps, setting)
    return list(dict.fromkeys(step.verb for verb, step in hit if verb.prepares == way))


def hitting_nodes(planned: Iterable[Planned], setting: Setting) -> list[tuple[Verb, Planned]]:
    """The faults of nodes, not of workers, each with its verb."""
    return [
        (VERBS[entry.verb], entry)
        for entry in planned
        if (target := target_of(entry.target, setting)) and target.kind != "client"
    ]


def lasts_s(steps: Sequence[Step], sends_per_s: float) -> float:
    """The shortest time from the start of the load to the plan's end, in seconds: every step begins
    when due and is healed at its end, and `sends_per_s` sends a second are all acknowledged."""
    begun, over = dict[int, float](), dict[int, float]()  # by series: of its last step
    for step in steps:
        before = step.series - 1
        base = {"healed": over, "in-force": begun}.get(step.when or "", {}).get(before, 0.0)
        at_s = step.at if step.unit == "seconds" else step.at / sends_per_s
        begun[step.series] = max(base + at_s, over.get(step.series, 0.0))
        over[step.series] = begun[step.series] + step.for_s
    return max(over.values(), default=0.0)


def _drawn(mixed: MixedPart, random: Random, first_step: int, first_series: int) -> list[Step]:
    """The faults of each period, each a series of its own, so that they may overlap."""
    steps: list[Step] = []
    for period in range(int(mixed.until_s / mixed.period_s)):
        quiet = random.random() < mixed.quiet
        count = 0 if quiet else random.randint(1, min(mixed.most, len(mixed.faults)))
        for fault in random.sample(list(mixed.faults), count):
            lasts = fault.for_s or round(mixed.period_s * random.uniform(0.1, 0.35), 3)
            steps.append(
                Step(
                    step=first_step + len(steps),
                    series=first_series + len(steps),
                    verb=fault.verb,
                    target=fault.target,
                    unit="seconds",
                    at=round(mixed.period_s * (period + random.uniform(0, 0.3)), 3),
                    for_s=lasts,
                    until=fault.until,
                    options=dict(fault.options),
                    seed=random.getrandbits(48),
                )
            )
    return steps
