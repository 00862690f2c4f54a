"""Whether an unclean election was allowed at a moment: the setting as it was then.

    topic: unclean.leader.election.enable = false    set-config to true, 5 s to 9 s
    =>  not allowed at 4 s; allowed at 6 s

The topic's own setting goes before the brokers'. A change counts from when its fault began until it
was healed, a change to `false` from when it was proved: while it is made, either may be in force.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.causes.seen import Seen

KEY = "unclean.leader.election.enable"


def unclean_allowed(
    seen: Seen, from_ns: int, to_ns: int | None = -1
) -> Iterator[tuple[bool, str | None]]:
    """One answer, or none where it was certainly not allowed: (True, None), or (False, why it is
    not known). At one moment, or at any from `from_ns` to `to_ns` (None: without end)."""
    end_ns = from_ns if to_ns == -1 else to_ns
    base = str(seen.topic_config.get(KEY, seen.server.get(KEY, "false"))).lower() == "true"
    allowed, taken_back, unknown = base, False, False
    for fault in seen.happened.faults:
        effects = seen.happened.effects(fault)
        begun = end_ns is None or fault["invoke_ns"] <= end_ns
        over = fault["heal_ok_ns"] is not None and fault["heal_ok_ns"] < from_ns
        if not fault["nodes"] or not begun or over:
            continue
        if effects is None:
            unknown = True
            continue
        value = effects.topic_settings.get(KEY)
        of_brokers = seen.happened.options(fault).get("on") == "brokers"
        if value is None or (of_brokers and KEY in seen.topic_config):
            continue
        if str(value).lower() == "true":
            allowed, taken_back = True, False
        elif fault["ok_ns"] is not None and fault["ok_ns"] <= from_ns:
            taken_back = _within(fault["heal_invoke_ns"], end_ns)
    if allowed and not taken_back:
        yield True, None
    elif unknown:
        yield False, seen.why_unknown()


def _within(heal_ns: int | None, end_ns: int | None) -> bool:
    """Whether a change held to the end of the stretch: it was not being undone by then."""
    return heal_ns is None or (end_ns is not None and heal_ns > end_ns)
