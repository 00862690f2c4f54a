"""Every verb at every target, on real clusters: `make nemesis-table`.

For each verb a run on each kind of cluster, with a fault for each target that it can be done to,
one after the other, and a second one for the targets that must be brought about. What each fault
proved goes to docs/data/faults.jsonl, one line per fault, and from there to the table in
docs/faults.md. Pairs that were proved are not run again, so the command can be interrupted anywhere
and goes on where it was. `--render` only writes the table, and the one of what each verb can do.

    {"verb": "kill", "target": "leader", "nodes": ["kafka1"], "bit": "process 47 of kafka1 is gone",
     "healed": "…", "error": null, "seed": 1, "kafka": "4.4.0", "metadata": "kraft", "utc": "…"}

A line without `metadata` is of a cluster with ZooKeeper. A fault in which the command was stopped
has a line, and is no try. A pair that cannot be has no line but a reason, the one that refuses such
a scenario.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.checkout import DOCS
from harness.cluster.backends import BACKENDS
from harness.commands import carry_out
from harness.history.recorder import Lines
from harness.history.side_files import faults, read
from harness.model.effects import Effects
from harness.model.exit_codes import INTERRUPTED, worst
from harness.model.runs.run_record import RunRecord
from harness.model.scenario import FaultPart, Scenario, WorkloadPart
from harness.model.sections.kafka_releases import DEFAULT, NEWEST
from harness.model.worker_kinds import PROGRAM
from harness.nemesis.targets import TARGETS
from harness.nemesis.verb import Trial
from harness.nemesis.verbs import VERBS
from harness.scenario import file as scenario
from harness.scenario.kafka.release import normalize
from harness.scenario.prepare import Request
from harness.scenario.rules import target_problems

Entry = Mapping[str, Any]  # a table of [[faults]]
DATA, PAGE = DOCS / "data/faults.jsonl", DOCS / "faults.md"
BEGIN, END = "<!-- the table: python -m bench.fault_table -->", "<!-- end of the table -->"

EFFECTS_BEGIN = "<!-- the effects: python -m bench.fault_table --render -->"
EFFECTS_END = "<!-- end of the effects -->"
LEADERSHIP = {
    "stays": "",
    "if-seen": "another broker may lead where that was seen",
    "where-it-hits": "another broker may lead where it hits a leader, or half of the ensemble",
    "anywhere": "another broker may lead, whoever is hit",
}
TAKES = {
    "nothing": "",
    "unsynced": "takes what was not synced",
    "all": "takes all that was written",
}
BASE = """
title = "{verb} at every target, one after the other"
[cluster]
kafka = "{kafka}"
metadata = "{metadata}"
voters = "{voters}"
session_ms = 2000
[cluster.zoo]
tickTime = 500
[cluster.server]
"controller.socket.timeout.ms" = 3000
"replica.socket.timeout.ms" = 3000
[topic]
partitions = {partitions}
replication_factor = {replicas}
leader = "{leader}"
[topic.config]
"segment.ms" = 1000 # closed segments, so that a bit can be flipped in one
[workload]
kind = "stream"
rate = 200
duration_s = 3
group_consumers = 1
[workload.producer]
acks = "all"
"transactional.id" = "every" # somebody must coordinate transactions
"transaction.timeout.ms" = 10000
"""
NOT_YET = "not tried yet: "
STOPPED = "stopped while"  # as harness.nemesis.conductor.waits says it
# With a single replica, placed on the controller, these are there from the start.
BROUGHT_ABOUT = ("leader-and-controller", "last-isr")
Line = Mapping[str, Any]
# What the local backend can do; pods are deleted in tests/live/kubernetes, and what commands
# of the user's do is theirs (tests/live/external/test_external.py).
ABLE = BACKENDS["local"].capabilities(Scenario(title="any", workload=WorkloadPart(kind="stream")))
LOCAL = [name for name, verb in VERBS.items() if verb.trial and set(verb.needs) <= ABLE]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of cluster that verbs are tried on, and targets that are nobody there, or are others'
    by another word."""

    name: str
    metadata: str
    kafka: str
    without: str

    @property
    def words(self) -> list[str]:
        """The targets."""
        ours = (target for target in TARGETS if target not in (PROGRAM.name, f"{PROGRAM.name}s"))
        return [target for target in ours if not target.startswith(self.without)]

    def has(self, line: Line) -> bool:
        """Whether a line was measured there."""
        return bool(line.get("metadata", "zookeeper") == self.metadata)


KINDS = (
    Kind(name="ZooKeeper", metadata="zookeeper", kafka=DEFAULT, without="quorum-"),
    Kind(name="KRaft", metadata="kraft", kafka=NEWEST, without="zk-"),
)


def main() -> int:
    """Make the runs that are missing, then write the table. The worst exit code of the runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--verbs", help="these only, with commas between them")
    every = [kind.metadata for kind in KINDS]
    parser.add_argument("--metadata", choices=every, help="on this kind of cluster only")
    parser.add_argument("--runs", type=int, default=1, help="how often each pair is wanted")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where runs are kept")
    parser.add_argument("--render", action="store_true", help="write the table, run nothing")
    asked = parser.parse_args()
    verbs = asked.verbs.split(",") if asked.verbs else list(LOCAL)
    codes: list[int] = []
    if not asked.render:
        kinds = [kind for kind in KINDS if asked.metadata in (None, kind.metadata)]
        for kind, verb in product(kinds, verbs):
            for number in range(asked.runs):
                codes += _run_missing(kind, verb, number, asked.results)
                if codes and codes[-1] in INTERRUPTED:
                    return codes[-1]
    page = PAGE.read_text()
    PAGE.write_text(with_effects(with_table(page, render(known()))))
    return worst(codes) if codes else 0


def known() -> Sequence[Line]:
    """The lines measured so far."""
    return [json.loads(line) for line in DATA.read_text().splitlines()] if DATA.exists() else []


# Which pairs there are


def chosen_for(kind: Kind, verb: str) -> Scenario:
    """The scenario that a verb's pairs are tried in, without faults."""
    usual = _trial(verb).replicas
    # Some commands of an operator need a broker without a replica, others voters that can change.
    ways = [(usual, "static"), (2, "static"), (usual, "dynamic")]
    tried = [_scenario(kind, verb, *way) for way in ways]
    possible = (made for made in tried if any(not reason(verb, t, made) for t in kind.words))
    return next(possible, tried[0])


def reason(verb: str, target: str, chosen: Scenario) -> str | None:
    """Why the pair cannot be; None when it can."""
    fault = FaultPart(verb=verb, target=target, options=_options(verb, target))
    problems = target_problems(fault, chosen)
    return problems[0].split(": ", 1)[1].removeprefix(f"{verb}: ") if problems else None


def _scenario(kind: Kind, verb: str, replicas: int, voters: str) -> Scenario:
    text = _base(kind, verb, replicas, "any", voters)
    return scenario.checked_scenario(normalize(tomllib.loads(text), {}).raw)


def _base(kind: Kind, verb: str, replicas: int, leader: str, voters: str) -> str:
    return BASE.format(
        verb=verb,
        kafka=kind.kafka,
        metadata=kind.metadata,
        voters=voters,
        partitions=_trial(verb).partitions,
        replicas=replicas,
        leader=leader,
    )


# Runs


def _run_missing(kind: Kind, verb: str, number: int, results: Path) -> list[int]:
    """Runs with a fault for each pair that has fewer than `number + 1` proofs."""
    chosen = chosen_for(kind, verb)
    lines = [line for line in known() if kind.has(line)]
    done = [(line["verb"], line["target"]) for line in lines if line["bit"] and line["healed"]]
    targets = [
        target
        for target in kind.words
        if not reason(verb, target, chosen) and done.count((verb, target)) <= number
    ]
    # Leader and controller are two at the start, and may be one after a few faults.
    usual = [target for target in targets if target not in BROUGHT_ABOUT]
    usual.sort(key=lambda target: target != "leader-not-controller")
    alone = _scenario(kind, verb, 1, chosen.cluster.voters)
    others = [target for target in BROUGHT_ABOUT if target in targets]
    few = alone if all(not reason(verb, target, alone) for target in others) else chosen
    texts = [text_of(kind, verb, usual, chosen, "not-controller")] if usual else []
    texts += [text_of(kind, verb, others, few, _trial(verb).leader)] if others else []
    return [_run(verb, text, number + 1, results) for text in texts]


def _run(verb: str, text: str, seed: int, results: Path) -> int:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / f"every-{verb}.toml"
        file.write_text(text)
        prepared = carry_out.prepare_run(Request(scenario=str(file), seed=seed))
        code, folder = carry_out.carry_out_run(prepared, results, check=False, console=Console())
    _keep(folder.path, folder.read(), verb)
    return code


def text_of(kind: Kind, verb: str, targets: Sequence[str], chosen: Scenario, leader: str) -> str:
    """The scenario of one run, with as many replicas and the voters of the one that was chosen."""
    entries = [entry for target in targets for entry in _entries(verb, target)]
    first = {key: value for key, value in entries[0].items() if key != "when"} | {"at_s": 1}
    replicas, voters = chosen.topic.replication_factor, chosen.cluster.voters
    base = _base(kind, verb, replicas, leader, voters)
    return base + "".join(map(_table, [first, *entries[1:]]))


def _entries(verb: str, target: str) -> list[Entry]:
    """A fault, after what must be done before it; each by default when all before is healed."""
    trial = _trial(verb)
    when = "in-force" if target in trial.amid else "healed"
    fault = {"verb": verb, "target": target, "when": when, "for_s": 1}
    if options := _options(verb, target):
        fault["options"] = options
    before = trial.before_at.get(target, trial.before)
    return [*({"when": "healed"} | part.model_dump(exclude_unset=True) for part in before), fault]


def _table(entry: Entry) -> str:
    lines = [f"{key} = {_value(value)}\n" for key, value in entry.items()]
    return "[[faults]]\n" + "".join(lines)


def _value(value: Any) -> str:
    if not isinstance(value, Mapping):
        return json.dumps(value)
    return "{ " + ", ".join(f'"{k}" = {json.dumps(v)}' for k, v in value.items()) + " }"


def _options(verb: str, target: str) -> dict[str, Any]:
    trial = _trial(verb)
    usual = trial.options or VERBS[verb].options.example()
    little = trial.options_at_zookeeper if TARGETS[target].kind == "zookeeper" else None
    return dict(little or usual)


def _trial(verb: str) -> Trial:
    return VERBS[verb].trial or Trial()


def _keep(folder: Path, record: RunRecord, verb: str) -> None:
    DATA.parent.mkdir(exist_ok=True)
    lines = Lines(DATA)
    for fault in faults(read(folder / "history/nemesis.jsonl"), record.run_id):
        if fault["verb"] != verb:
            continue  # it brought the next one about
        whole = {
            "target": fault["target"],
            "nodes": fault["nodes"],
            "bit": fault["evidence"],
            "healed": fault["heal_evidence"],
            "error": fault["error"],
            "seed": record.seed,
            "kafka": record.versions.get("kafka"),
            "metadata": record.scenario.cluster.kept_by,
            "utc": datetime.now(UTC).isoformat(),
        }
        lines.write("fault", verb=verb, **whole)
    lines.close()


# The table


def render(lines: Iterable[Line]) -> str:
    """The table: for each verb and kind of cluster the targets with proofs and tries, and the pairs
    that cannot be."""
    told = list(lines)
    heads = [f"{kind.name} ({kind.kafka}): proved, of tries | cannot be" for kind in KINDS]
    rows = [f"| verb | {' | '.join(heads)} |", "|---" * (1 + 2 * len(KINDS)) + "|"]
    for verb in LOCAL:
        cells = [cell for kind in KINDS for cell in _cells(kind, verb, told)]
        rows.append(f"| `{verb}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cells(kind: Kind, verb: str, told: Sequence[Line]) -> tuple[str, str]:
    """What was proved and tried, and what was not yet; why the others cannot be."""
    chosen = chosen_for(kind, verb)
    tried, untried, reasons = list[str](), list[str](), dict[str, list[str]]()
    for target in kind.words:
        if why := reason(verb, target, chosen):
            why = why.removeprefix(f"{target}: ").replace(f"to {target},", "there,")
            reasons.setdefault(why, []).append(target)
            continue
        mine = [line for line in told if (line["verb"], line["target"]) == (verb, target)]
        tries = [line for line in mine if kind.has(line) and not _stopped(line)]
        proved = sum(bool(line["bit"] and line["healed"]) for line in tries)
        if tries:
            tried.append(f"{target} {proved}/{len(tries)}")
        else:
            untried.append(target)
    if untried and not tried:
        needs = VERBS[verb].prepares == "netem"
        untried = ["all others" + (": the kernel that this was made on has no netem" * needs)]
    parts = [", ".join(tried), f"{NOT_YET}{', '.join(untried)}" if untried else ""]
    never = "; ".join(f"{', '.join(them)}: {why}" for why, them in reasons.items())
    return "; ".join(filter(None, parts)), never


def _stopped(line: Line) -> bool:
    return str(line["error"]).startswith(STOPPED)


def with_table(page: str, table: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def with_effects(page: str) -> str:
    """The page with the table of effects between its marks: by what they can do, the verbs."""
    verbs: dict[str, list[str]] = {}
    for name, verb in VERBS.items():
        told = effects_words(verb.effects_at(TARGETS["leader"], verb.options.example()))
        verbs.setdefault(told, []).append(f"`{name}`")
    rows = ["| what it can do | verbs |", "|---|---|"]
    rows += [f"| {told} | {', '.join(names)} |" for told, names in sorted(verbs.items())]
    before, _, rest = page.partition(EFFECTS_BEGIN)
    _, _, after = rest.partition(EFFECTS_END)
    return "\n".join([before + EFFECTS_BEGIN, *rows, EFFECTS_END + after])


def effects_words(effects: Effects | None) -> str:
    """What a fault can do, in words."""
    if effects is None:
        return "not known"
    parts = [
        LEADERSHIP[effects.leadership],
        TAKES[effects.takes],
        "alters stored bytes" if effects.alters_stored_bytes else "",
        "changes the topic's settings" if effects.topic_settings else "",
        "ends processes" if effects.ends_processes else "",
        "starts them again itself" if effects.starts_again else "",
    ]
    return "; ".join(filter(None, parts)) or "nothing of all this"


if __name__ == "__main__":
    sys.exit(main())
