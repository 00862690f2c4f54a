"""sentences.txt: the faults in words, and whole headlines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.anomalies import NAMES as ANOMALIES
from analysis.report.headline import faults_words, sentence
from analysis.report.judged import Judged
from analysis.verdict.judge import Tally, Unsure, decide, judge
from harness.model.runs.report_course import Window
from harness.nemesis.targets import TARGETS
from harness.nemesis.verbs import VERBS
from tests.baseline.cells import (
    BLIND,
    CONFIGURATIONS,
    OUTSIDE,
    Case,
    Configuration,
    Row,
    nodes_of,
    run_of,
    targets_of,
)
from tests.baseline.permissions import Permitted, permitted_in
from tests.baseline.promises_text import verdict_on

OFTEN = (2, 10, 1200)
# Nodes' own names are targets, too.
NAMES = {"kafka2": "broker", "zk1": "zookeeper", "producer-0": "client"}
ACKS_1 = CONFIGURATIONS["acks=1"]


def sentences_text() -> str:
    """The faults in words, then whole headlines."""
    parts = {
        "every verb at every target": _every_fault(),
        "how often": _how_often(),
        "several faults": _several(),
        "headlines under acks=1: every verb at the leader": _headlines(
            (verb, "leader" if "leader" in targets else targets[0])
            for verb in VERBS
            if (targets := targets_of(verb, ACKS_1))
        ),
        "headlines under acks=1: every target, killed": _headlines(
            ("kill", target) for target in targets_of("kill", ACKS_1)
        ),
        "headlines: every configuration, a leader killed": _configurations(),
        "headlines: every anomaly, once and several times": _anomalies(),
        "headlines of every verb at every target, by configuration, as digests": _digests(),
        "headlines: doubts, windows, no fault, few acks": _rest_of_headlines(),
    }
    return "\n".join(
        line
        for title, lines in parts.items()
        for line in (title, *(f"  {each}" for each in lines), "")
    )


Hit = tuple[str, str, int]  # a verb, its target, and how often


def _words(*hits: Hit, nobody: Hit | None = None) -> str:
    """What happened in words; `nobody`: a fault that hit nobody."""
    faults: Any = []
    plan: list[Row] = []
    for step, (verb, target, times) in enumerate([*hits, *([nobody] if nobody else [])]):
        nodes = nodes_of(target) if target in TARGETS else (target,)
        case = Case(verb=verb, target=target, nodes=() if step == len(hits) else nodes)
        run = run_of(ACKS_1, case)
        faults += [{**fault, "step": step} for fault in run["faults"]] * times
        plan += [{**planned, "step": step} for planned in run["plan"]]
    return faults_words(faults, plan)


def _every_fault() -> list[str]:
    return [
        f"{verb} {target}: {_words((verb, target, 1))}"
        for verb in sorted(VERBS)
        for target in sorted([*targets_of(verb, ACKS_1), *NAMES])
        if (TARGETS[target].kind if target in TARGETS else NAMES[target]) in VERBS[verb].hits
    ]


def _how_often() -> list[str]:
    pairs = [(verb, "all") for verb in sorted(VERBS)]
    pairs += [("kill", target) for target in sorted(targets_of("kill", ACKS_1))]
    return [
        f"{verb} {target} ×{times}: {_words((verb, target, times))}"
        for verb, target in pairs
        for times in OFTEN
    ]


def _several() -> list[str]:
    two = (("pause", "followers", 1), ("kill", "leader", 3))
    return [
        f"two: {_words(*two)}",
        f"three: {_words(*two, ('cut', 'zk-minority', 1))}",
        f"the same again: {_words(*two, ('pause', 'followers', 1))}",
        f"with one that hit nobody: {_words(*two, nobody=('kill', 'last-isr', 1))}",
        f"with one that breaks nothing: {_words(('dump-log', 'all', 1), *two)}",
        f"none: {_words()}",
    ]


def _headlines(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [
        f"{verb} {target}, lost {lost}: {headline(ACKS_1, verb, target, {'lost': lost})}"
        for verb, target in sorted(pairs)
        for lost in (3, 0)
    ]


def _configurations() -> list[str]:
    return [
        f"{name}, lost {lost}: {headline(each, 'kill', 'leader', {'lost': lost})}"
        for name, each in CONFIGURATIONS.items()
        for lost in (3, 0)
    ]


def _digests() -> list[str]:
    """Too many to be read: a digest that changes says where to look, those above say at what."""
    return [
        f"{verb}, {name}: {_digest(each, verb)}"
        for verb in sorted(VERBS)
        for name, each in CONFIGURATIONS.items()
    ]


def _digest(configuration: Configuration, verb: str) -> str:
    texts = (
        _sentence(ran, {"lost": lost})
        for target in sorted(targets_of(verb, configuration))
        for ran in [_ran(configuration, verb, target)]
        for lost in (3, 0)
    )
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]


def _anomalies() -> list[str]:
    return [
        f"{name}, {anomaly} {count}, lost {lost}: "
        + headline(CONFIGURATIONS[name], "kill", "leader", {"lost": lost, anomaly: count})
        for name in (
            "acks=0",
            "group, committed before processing, unclean elections",
            "group, committed after processing, no leader epochs",
            "transactions",
        )
        for anomaly in ANOMALIES
        if anomaly != "lost"
        for count, lost in ((1, 0), (5, 0), (5, 3))
    ]


def _rest_of_headlines() -> list[str]:
    doubts = ("the final read of partition 0 is not complete",)
    short, long, open_ = (
        {"kind": kind, "length_s": length_s, "end_s": end_s}
        for kind, length_s, end_s in (
            ("produce", 0.84, 2.0),
            ("produce", 123.4, 200.0),
            ("consume", 12.5, None),
        )
    )
    told: dict[str, Row] = {
        "a doubt": {"doubts": doubts},
        "a doubt, lost 3": {"doubts": doubts, "counts": {"lost": 3}},
        "one window": {"windows": [short]},
        "three windows": {"windows": [short, long, open_]},
        "nothing acknowledged": {"acked": 0},
        "one acknowledged": {"acked": 1},
        "one acknowledged, lost 1": {"acked": 1, "counts": {"lost": 1}},
    }
    lines = [
        f"{name}: {headline(ACKS_1, 'kill', 'leader', **{'counts': {}, **more})}"
        for name, more in told.items()
    ]
    killed = (ACKS_1, "kill", "leader", {"lost": 3})
    return [
        *lines,
        f"the leader stayed, lost 3: {headline(*killed, situation='')}",
        f"nobody looked, lost 3: {headline(*killed, situation=BLIND)}",
        f"no fault: {headline(ACKS_1, None, '', {})}",
        f"a fault that breaks nothing: {headline(ACKS_1, 'dump-log', 'all', {})}",
    ]


def tallied(permitted: Permitted, counts: Mapping[str, int]) -> dict[str, Tally]:
    """So many of each anomaly, all of them records like promises_text's."""
    permission, found = permitted
    return {
        name: _tally(count, *verdict_on(permission, name, found[name]))
        if name in found
        else Tally(count=count)
        for name, count in counts.items()
    }


def _tally(count: int, verdict: str, by: str) -> Tally:
    return Tally(
        count=count,
        permitted=count * (verdict == "permitted"),
        in_doubt=count * (verdict == "in doubt"),
        doubt=f"{by} may permit it" if verdict == "in doubt" else None,
    )


def headline(  # noqa: PLR0917  the run first, then what was found in it
    configuration: Configuration,
    verb: str | None,
    target: str,
    counts: Mapping[str, int],
    doubts: tuple[str, ...] = (),
    windows: Sequence[Row] = (),
    acked: int = 10_000,
    situation: str = OUTSIDE,
) -> str:
    """The whole sentence of a run in which the verb hit the target ten times."""
    ran = _ran(configuration, verb, target, situation)
    return _sentence(ran, counts, doubts, windows, acked)


def _ran(
    configuration: Configuration, verb: str | None, target: str, situation: str = OUTSIDE
) -> tuple[Permitted, Row]:
    """Such a run, and what permits what in it."""
    nodes = nodes_of(target, configuration if configuration.kraft else None) if verb else ()
    case = Case(verb=verb, target=target, nodes=nodes, situation=situation)
    return permitted_in(configuration, case), run_of(configuration, case)


def _sentence(
    ran: tuple[Permitted, Row],
    counts: Mapping[str, int],
    doubts: tuple[str, ...] = (),
    windows: Sequence[Row] = (),
    acked: int = 10_000,
) -> str:
    permitted, run = ran
    permission, _ = permitted
    judgements = judge(tallied(permitted, counts), permission.promised, {}, Unsure(doubts=doubts))
    judged = Judged(
        facts=permission.facts,
        verdict=decide(judgements, Unsure(doubts=doubts)),
        judgements=judgements,
        doubts=doubts,
        windows=[Window.model_construct(**window) for window in windows],
    )
    faults = run["faults"] * 10
    return sentence(judged, acked=acked, faults=faults, plan=run["plan"], threshold_ms=500.0)
