"""The words of the report: numbers with units, a configuration in words, a finding judged.

Pure functions from report.json to short texts, shared by the page and by JUnit.
Nothing here decides: counts, promises and the verdict come from the checkers, and `remark` only
says in words what their fields mean together.

A missing number is `–`, never 0.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.model.client_settings import acks_of, by_one_name
from harness.model.sections.expect import amount_words
from harness.model.sections.kafka_releases import KRAFTS_SESSION, SESSION_MS, ZOOKEEPERS_SESSION
from harness.model.untold import FAULTS

if TYPE_CHECKING:  # slow to import, and the terminal's table needs these words before Spark starts
    from harness.model.runs.report import Configuration, Report
    from harness.model.runs.report_course import FaultTold
    from harness.model.runs.report_findings import Finding

Row = Mapping[str, Any]
Tone = Literal["bad", "good", "doubt", "note", "quiet"]

MISSING = "–"
NOT_TOLD = "not told"  # by an imported history
# The settings that a configuration's words always tell, by their own word.
TOLD = {
    "acks": "acks",
    "enable.idempotence": "idempotence",
    "replication_factor": "replicas",
    "min.insync.replicas": "min.insync.replicas",
}
NOT_OWN = ("harness", "to fit others")  # layers of brokers' settings that nobody asked for
OWN_MAX = 6
IN_FILE = re.compile(r"(.+), line \d+")  # a layer that is a file of the user's
# Above these the host may have shaped the result: its CPUs were taken, crowded, or rationed.
STARVED = {"steal_percent": 5.0, "pressure_some_percent": 60.0, "cgroup_throttled_s": 1.0}
ACKS = {
    "all": "acks=all (every in-sync replica has the record)",
    "1": "acks=1 (the leader alone has the record)",
    "0": "acks=0 (nothing is acknowledged)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What a finding means in this run: a tone (never shown alone) and a short sentence."""

    tone: Tone
    words: str


def number(value: float | None) -> str:
    """`10,000`; a fraction keeps one digit."""
    if value is None:
        return MISSING
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 100 else f"{value:,.1f}"


def seconds(value: float | None) -> str:
    """`0.84 s`, `12.3 s`, `3 min 5 s`."""
    if value is None:
        return MISSING
    if abs(value) >= 120:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes:,} min {rest} s"
    return f"{value:.2f} s" if abs(value) < 10 else f"{value:.1f} s"


def moment(value: float | None) -> str:
    """A point on the timeline's axis, in seconds however late: `4.04 s`, `3,010.20 s`."""
    return MISSING if value is None else f"{value:,.2f} s"


def milliseconds(value: float | None) -> str:
    """`1.9 ms`, `240 ms`, `6.10 s`."""
    if value is None:
        return MISSING
    if value >= 1000:
        return seconds(value / 1000)
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"


def utc(text: str | None) -> str:
    """`2026-11-21 02:15:00 UTC`, from a time in ISO 8601."""
    return MISSING if text is None else f"{text[:19].replace('T', ' ')} UTC"


def is_starved(host: Row) -> bool:
    """Whether the host lacked CPU so much that gaps and latencies may be its own."""
    starvation = host.get("cpu_starvation") or {}
    return any((starvation.get(key) or 0) > limit for key, limit in STARVED.items())


def remarks(report: Report) -> list[Remark]:
    """What else a reader must know of the run, whatever was found in it, in one sentence each."""
    found = []
    if report.counts.sends and is_starved(report.host):
        words = "The host was short of CPU: gaps and latencies may be the host’s, not Kafka’s."
        found.append(Remark(tone="doubt", words=words))
    if report.rates and report.rates.planned_s:
        lasted = f"{seconds(report.rates.load_s)} instead of {number(report.rates.planned_s)} s"
        words = f"The load lasted {lasted}, until the last fault was healed."
        found.append(Remark(tone="quiet", words=words))
    notes = report.configuration.notes
    if notes and report.untold:  # on what an import passed over
        found += [Remark(tone="quiet", words=str(note)) for note in notes]
    elif notes:
        words = "Some settings were left out, do nothing here or were made to fit"
        words += f": {count_of(len(notes), 'note')} in the report’s configuration."
        found.append(Remark(tone="quiet", words=words))
    return found


def count_of(many: int, one: str) -> str:
    """`1 fault`, `10 faults`."""
    return f"{many:,} {one if many == 1 else one + 's'}"


def plain(value: object) -> str:
    """A setting or a cell as people write it: booleans small, lists with commas, none as –."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value) or MISSING
    return json.dumps(value) if isinstance(value, Mapping) else str(value)


def flat(settings: Row) -> dict[str, object]:
    """Settings on one level: the keys of a nested table stand beside the others."""
    tables = [value for value in settings.values() if isinstance(value, Mapping)]
    own = {key: value for key, value in settings.items() if not isinstance(value, Mapping)}
    return own | {key: value for table in tables for key, value in table.items()}


def min_isr(configuration: Configuration) -> int | None:
    """min.insync.replicas in force: the topic's, else the brokers' (or, where KRaft remembers
    eligible leaders, the controllers'), else Kafka's default of 1."""
    topic = flat(configuration.topic)
    if not topic:
        return None
    eligible = configuration.kraft and configuration.kraft.eligible_leaders
    settings = configuration.controller if eligible else configuration.server
    default = flat(settings or {}).get("min.insync.replicas", 1)
    return int(str(topic.get("min.insync.replicas", default)))


def whose_words(configuration: Configuration) -> str:
    """Whose configuration is asked where it is not the scenario's alone: `yours: producer
    (app.properties), brokers (server.properties). All else is the scenario's.`"""
    owners = []
    for section, layers in configuration.layers.items():
        files = {found[1] for layer in layers.values() if (found := IN_FILE.fullmatch(layer))}
        if files:
            whose = "brokers" if section == "server" else section
            owners.append(f"{whose} ({', '.join(sorted(files))})")
    return f"yours: {', '.join(owners)}. All else is the scenario’s." if owners else ""


def configuration_words(configuration: Configuration, untold: Collection[str] = ()) -> str:
    """What the clients asked for and the topic gave, in one line, and what of it is not told."""
    producer, topic = flat(configuration.producer), flat(configuration.topic)
    plainly = by_one_name(producer)
    retries, until_ms = plainly.get("retries"), plainly.get("message.timeout.ms")
    endless = "unlimited retries" if until_ms is None else f"retries for {_length(until_ms)}"
    idempotent = plain(producer.get("enable.idempotence", False)) == "true"
    words = [ACKS[acks_of(producer)]] if producer and "acks" not in untold else []
    if retries is not None:
        words.append(
            {"0": "no retries", "2147483647": endless}.get(
                plain(retries), f"{plain(retries)} retries"
            )
        )
    if producer and "enable.idempotence" not in untold:
        words.append(f"idempotence {'on' if idempotent else 'off'}")
    if topic.get("replication_factor") is not None:
        words.append(count_of(int(str(topic["replication_factor"])), "replica"))
    if "replication_factor" in topic and "min.insync.replicas" not in untold:
        words.append(f"min.insync.replicas={min_isr(configuration)}")
    kraft = configuration.kraft
    deciding = configuration.controller or configuration.server
    unclean = {**flat(deciding), **topic}.get("unclean.leader.election.enable")
    if plain(unclean) == "true" and (kraft is None or kraft.configures_unclean):
        words.append("unclean elections on")
    missing = [word for setting, word in TOLD.items() if setting in untold]
    known = [", ".join(words)] if words else []
    return "; ".join([*known, *([f"{NOT_TOLD}: {', '.join(missing)}"] if missing else [])])


def broker_words(report: Report) -> str:
    """Which Kafka it was, how long a session was, and what the scenario or its user set for the
    brokers: `Kafka 3.9.2, ZooKeeper session of 2.00 s, replica.fetch.wait.max.ms=5`, or `Kafka
    4.4.0, KRaft, session of 9.00 s`."""
    configuration = report.configuration
    server, sections = flat(configuration.server), configuration.layers
    layers = {**sections.get("server", {}), **sections.get("broker", {})}
    kraft = configuration.kraft is not None
    deciding = flat(configuration.controller or server)
    words = [f"Kafka {kafka}"] if (kafka := report.versions.get("kafka")) else []
    words += ["KRaft"] if kraft else []
    session, whose = (KRAFTS_SESSION, "") if kraft else (ZOOKEEPERS_SESSION, "ZooKeeper ")
    own = [key for key, layer in layers.items() if layer not in NOT_OWN and key != session]
    ms = deciding.get(session, SESSION_MS[session] if kraft else None)
    words += [] if ms is None else [f"{whose}session of {_length(ms)}"]
    words += [f"{key}={plain(server[key])}" for key in sorted(own)[:OWN_MAX] if key in server]
    more = len(own) - OWN_MAX
    return ", ".join([*words, *([f"and {more} more settings"] if more > 0 else [])])


def _length(ms: object) -> str:
    """Of a setting in ms, which may be anybody's."""
    text = plain(ms)
    return seconds(int(text) / 1000) if text.isdecimal() else f"{text} ms"


def fault_counts(faults: Sequence[FaultTold], planned: int, untold: Collection[str] = ()) -> str:
    """`10 faults: kill leader ×10`; says so when not every planned one happened, or when nobody
    told of any."""
    if FAULTS in untold and not faults:
        return NOT_TOLD
    kinds = Counter(f"{fault.verb} {fault.target}" for fault in faults)
    listed = ", ".join(f"{kind} ×{many}" if many > 1 else kind for kind, many in kinds.items())
    missing = f" ({planned} planned)" if planned != len(faults) else ""
    if not faults:
        return f"no fault{missing}"
    return f"{count_of(len(faults), 'fault')}{missing}: {listed}"


def remark(finding: Finding, *, provable: bool) -> Remark:
    """A finding in words. `provable` is false where "none found" would prove nothing."""
    count, demanded = finding.count, finding.demanded
    if finding.forbidden and count:
        convicts = finding.convicts
        return Remark(
            tone="bad" if convicts else "doubt",
            words="Promise broken: forbidden, and seen"
            if convicts
            else "Seen; whether it breaks a promise is unknown",
        )
    if demanded is not None and finding.demand_met is False:
        return Remark(tone="bad", words=f"The scenario expects {amount_words(demanded)}: not met")
    if demanded is not None and finding.demand_met is None:
        return Remark(
            tone="doubt", words=f"The scenario expects {amount_words(demanded)}: not known"
        )
    if not count and not provable:
        return Remark(tone="doubt", words="None found, which proves nothing in this run")
    return _content(count, demanded, forbidden=finding.forbidden)


def _content(count: int, demanded: str | None, *, forbidden: bool) -> Remark:
    """A finding that breaks neither a promise nor a demand."""
    if demanded is not None:
        allowed = "Allowed here, and as" if count and not forbidden else "As"
        return Remark(
            tone="good", words=f"{allowed} the scenario expects ({amount_words(demanded)})"
        )
    if count:
        return Remark(tone="note", words="Seen; allowed here")
    if forbidden:
        return Remark(tone="good", words="Promise kept")
    return Remark(tone="quiet", words="None seen; it would be allowed")


def seen_and_unseen(anomalies: Mapping[str, Finding]) -> tuple[list[str], list[str]]:
    """The names of those that were seen or demanded, and of those of which there is nothing to
    tell."""
    told = [n for n, found in anomalies.items() if found.count or found.demanded is not None]
    return told, [name for name in anomalies if name not in told]


def none_words(report: Report) -> str:
    """Of the latter in one line: `11 other anomalies: none seen; 9 of them are forbidden here`."""
    told, none = seen_and_unseen(report.anomalies)
    what = f"{len(none)} {'other ' * bool(told)}{'anomaly' if len(none) == 1 else 'anomalies'}"
    if not provable(report):
        return f"{what}: none seen, which proves nothing in this run"
    forbidden = sum(report.anomalies[name].forbidden for name in none)
    are = "is" if forbidden == 1 else "are"
    return f"{what}: none seen" + (f"; {forbidden} of them {are} forbidden here" * bool(forbidden))


def provable(report: Report) -> bool:
    """Whether "none found" means something: a judged run whose final read got to the end."""
    read = report.final_read
    return report.verdict != "unknown" and read is not None and read.complete


def columns(examples: Sequence[Row]) -> list[str]:
    """The columns of evidence that people read: those with content that say something new.

    Left out are the names of run and anomaly, nanoseconds that are there in seconds as well, the
    moment that the anomaly is counted at where it repeats one of the others, a producer and its
    sequence where the value says the same, and copies that nobody found.
    """
    keys = list(dict.fromkeys(key for row in examples for key in row))
    filled = [key for key in keys if any(row.get(key) not in (None, []) for row in examples)]
    seconds = [key for key in filled if key.endswith("_s")]
    hidden = {"run_id", "anomaly", "cause"} | {f"{key.removesuffix('_s')}_ns" for key in seconds}
    hidden |= {"time_s"} if len(seconds) > 1 else set()
    if all(row.get("sequence") == row.get("value") for row in examples):
        hidden |= {"producer", "sequence"}
    if not any(row.get("copies") for row in examples):
        hidden |= {"copies"}
    return [key for key in filled if key not in hidden]


def fault_name(fault: FaultTold) -> str:
    """`kill → kafka2`: the verb, and the nodes that were hit (the target, if none is known)."""
    return f"{fault.verb} → {', '.join(fault.nodes or [fault.target])}"


def roles_words(before: object, after: object) -> list[str]:
    """Leader, ISR and controller before and after a fault, a line each.

    Both are the views recorded with a fault, as a table or as its JSON text: from its injection,
    and from when it was healed. Of many partitions the first three that changed.
    """
    old, new = _state(before), _state(after)
    if not old and not new:
        return []
    lines = []
    for key, name, turned in (("leader", "leader", _turned), ("isr", "ISR", _isr_turned)):
        was, now = _by_partition(old, key), _by_partition(new, key)
        changed = [p for p in sorted({*was, *now}, key=int) if was.get(p) != now.get(p)]
        if len(was) > 1 and not changed:
            lines.append(f"{name} of all {len(was)} partitions: unchanged")
            continue
        for partition in (changed or sorted(was, key=int))[:3]:
            where = f" of {partition}" if len(was) > 1 else ""
            lines.append(f"{name}{where}: {turned(was.get(partition), now.get(partition))}")
        if len(changed) > 3:
            lines.append(f"and {count_of(len(changed) - 3, 'more partition')}")
    return [*lines, f"controller: {_turned(old.get('controller'), new.get('controller'))}"]


def isr_by_partition(state: object) -> dict[str, Any]:
    """Who was in the ISR of each partition, by a view that was recorded with a fault; without what
    is none."""
    isr = _by_partition(_state(state), "isr")
    return {partition: names for partition, names in isr.items() if names is not None}


def _state(text: object) -> Row:
    try:
        state = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):  # nobody of ours has written it
        state = None
    return state if isinstance(state, Mapping) else {}


def _by_partition(state: Row, key: str) -> dict[str, Any]:
    """Who led, or who was in the ISR; what can be neither is left out."""
    found = state.get(key)
    kind = list if key == "isr" else str
    return {
        partition: value
        for partition, value in (found.items() if isinstance(found, Mapping) else ())
        if re.fullmatch(r"\d{1,9}", str(partition))
        and (value is None or isinstance(value, kind))
        and (kind is str or all(isinstance(name, str) for name in value or ()))
    }


def _turned(was: object, now: object) -> str:
    return f"{plain(was)}, unchanged" if was == now else f"{plain(was)} → {plain(now)}"


def _isr_turned(was: Sequence[str] | None, now: Sequence[str] | None) -> str:
    """`3 → 2, without kafka1`: how many, and who left or came."""
    if was is None or now is None or sorted(was) == sorted(now):
        return _turned(None if was is None else len(was), None if now is None else len(now))
    left = ", ".join(sorted(set(was) - set(now)))
    came = ", ".join(sorted(set(now) - set(was)))
    who = [*([f"without {left}"] if left else []), *([f"with {came}"] if came else [])]
    return ", ".join([f"{len(was)} → {len(now)}", *who])
