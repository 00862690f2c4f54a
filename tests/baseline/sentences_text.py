"""sentences.txt: the faults in words, and whole headlines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analysis.report.headline import faults_words, sentence
from analysis.verdict.expectations import ANOMALIES
from analysis.verdict.judge import decide, judge
from analysis.verdict.promises import promises
from harness.nemesis.targets import TARGETS
from harness.nemesis.verbs import VERBS
from tests.baseline.cells import (
    CONFIGURATIONS,
    Case,
    Configuration,
    Row,
    facts,
    nodes_of,
    run_of,
    targets_of,
)

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
        "headlines: doubts, windows, no fault, few acks": _rest_of_headlines(),
    }
    return "\n".join(
        line
        for title, lines in parts.items()
        for line in (title, *(f"  {each}" for each in lines), "")
    )


def _hit(verb: str, target: str, times: int = 1) -> list[Row]:
    nodes = nodes_of(target) if target in TARGETS else (target,)
    faults: list[Row] = run_of(ACKS_1, Case(verb=verb, target=target, nodes=nodes))["faults"]
    return faults * times


def _every_fault() -> list[str]:
    return [
        f"{verb} {target}: {faults_words(_hit(verb, target))}"
        for verb in sorted(VERBS)
        for target in sorted([*targets_of(verb, ACKS_1), *NAMES])
        if (TARGETS[target].kind if target in TARGETS else NAMES[target]) in VERBS[verb].hits
    ]


def _how_often() -> list[str]:
    pairs = [(verb, "all") for verb in sorted(VERBS)]
    pairs += [("kill", target) for target in sorted(targets_of("kill", ACKS_1))]
    return [
        f"{verb} {target} ×{times}: {faults_words(_hit(verb, target, times))}"
        for verb, target in pairs
        for times in OFTEN
    ]


def _several() -> list[str]:
    two = [*_hit("pause", "followers"), *_hit("kill", "leader", 3)]
    nobody = run_of(ACKS_1, Case(verb="kill", target="last-isr"))["faults"]
    return [
        f"two: {faults_words(two)}",
        f"three: {faults_words([*two, *_hit('cut', 'zk-minority')])}",
        f"the same again: {faults_words([*two, *_hit('pause', 'followers')])}",
        f"with one that hit nobody: {faults_words([*two, *nobody])}",
        f"with one that breaks nothing: {faults_words([*_hit('dump-log', 'all'), *two])}",
        f"none: {faults_words([])}",
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


def _anomalies() -> list[str]:
    return [
        f"{name}, {anomaly} {count}, lost {lost}: "
        + headline(CONFIGURATIONS[name], "kill", "leader", {"lost": lost, anomaly: count})
        for name in (
            "acks=0", "group, committed before processing, unclean elections",
            "group, committed after processing, no leader epochs", "transactions",
        )
        for anomaly in ANOMALIES
        if anomaly != "lost"
        for count, lost in ((1, 0), (5, 0), (5, 3))
    ]  # fmt: skip


def _rest_of_headlines() -> list[str]:
    doubts = ("the final read of partition 0 is not complete",)
    short, long, open_ = (
        {"kind": kind, "length_s": length_s, "end_s": end_s}
        for kind, length_s, end_s in (
            ("produce", 0.84, 2.0), ("produce", 123.4, 200.0), ("consume", 12.5, None),
        )
    )  # fmt: skip
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
    return [*lines, f"no fault: {headline(ACKS_1, None, '', {})}"]


def headline(  # noqa: PLR0917  the run first, then what was found in it
    configuration: Configuration,
    verb: str | None,
    target: str,
    counts: Mapping[str, int],
    doubts: tuple[str, ...] = (),
    windows: Sequence[Row] = (),
    acked: int = 10_000,
) -> str:
    """The whole sentence of a run in which the verb hit the target ten times."""
    case = Case(verb=verb, target=target, nodes=nodes_of(target) if verb else ())
    known = facts(configuration, case)
    judgements = judge(counts, promises(known), {}, doubts)
    return sentence(
        verdict=decide(judgements, doubts), judgements=judgements, doubts=doubts, acked=acked,
        facts=known, faults=run_of(configuration, case)["faults"] * 10, windows=windows,
        threshold_ms=500.0,
    )  # fmt: skip
