"""What the views of one record's partition say, and what they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tests.support.permissions.cluster import (
    EVER,
    MAYBE,
    NEVER,
    NO,
    TWO_LOOKS,
    UNCLEAN,
    YES,
    Cluster,
    Row,
    Sent,
    four,
    meet,
    or_never,
    rose,
    term,
    told,
)


class Looks:
    """One record, and what was seen of its partition."""

    def __init__(self, cluster: Cluster, sent: Sent) -> None:
        self.cluster, self.sent = cluster, sent
        self.begun = EVER if sent.begun is None else sent.begun
        self.read = cluster.read_ended.get(sent.partition, NEVER)
        mine = [view for view in cluster.views if view["partition"] == sent.partition]
        self.views = sorted(mine, key=lambda view: int(view["time_ns"]))

    # --- what the views say

    def in_force(self, moment: int) -> Row | None:
        """The last view until a moment."""
        return next((v for v in reversed(self.views) if v["time_ns"] <= moment), None)

    def next_view(self, view: Row) -> Row | None:
        place = next(n for n, each in enumerate(self.views) if each is view)
        return self.views[place + 1] if place + 1 < len(self.views) else None

    def since(self, view: Row) -> int:
        """The last look that may not have shown it yet."""
        last = self.in_force(view["time_ns"] - 1)
        if view["since_ns"] is not None or last is None:
            return int(view["time_ns"] if last is None else view["since_ns"])
        looked = view["time_ns"] - TWO_LOOKS
        for start, end in sorted(self.dark()):
            if start < view["time_ns"] and end >= looked:
                looked = min(looked, start)
        return max(int(looked), int(last["time_ns"]))

    def elections(self) -> Iterator[tuple[Row, str, str]]:
        """Each view that shows another leader, who led before, and who leads now."""
        last = None
        for view in self.views:
            if view["leader"] and last and view["leader"] != last:
                yield view, last, view["leader"]
            last = view["leader"] or last

    def hidden(self) -> Iterator[tuple[int, int]]:
        """The stretches in which leaders may have come and gone unseen."""
        if not self.views:
            yield EVER, NEVER
            return
        yield EVER, self.views[0]["time_ns"]
        for last, view in pairwise([v for v in self.views if v["leader_epoch"] is not None]):
            by = view["leader_epoch"] - last["leader_epoch"]
            left = len({*last["isr"]} - {*view["isr"]}) if told(view) else 0
            left += 1 if view["leader"] and view["leader"] != last["leader"] else 0
            if by > 1 and left < by:
                yield max(self.since(view), last["time_ns"]), view["time_ns"]
        for start, end in self.dark():
            before, after = self.in_force(start), self.in_force(end + TWO_LOOKS)
            if rose(before, after if end < NEVER else None) > 1:
                yield start, end

    def other_isrs(self) -> Iterator[tuple[int, int]]:
        """Those in which no leaders did, but ISRs may have: leader or epoch were not the same."""
        for start, end in self.dark():
            before, after = self.in_force(start), self.in_force(end + TWO_LOOKS)
            by = rose(before, after if end < NEVER else None)
            differs = term(before) != term(after) or not self.one_change(before, after)
            if by == 1 or (by < 1 and differs):
                yield start, end

    def one_change(self, before: Row | None, after: Row | None) -> bool:
        """Whether the partition was changed once at most, as far as its own epoch tells."""
        first, last = ((view or {}).get("partition_epoch") for view in (before, after))
        return first is None or last is None or last - first in (0, 1)

    def guessed(self, view: Row) -> bool:
        """Whether others may have been eligible, of whom it does not tell."""
        least = min(self.cluster.min_isr, self.cluster.replicas)
        untold = self.cluster.elr and view.get("elr") is None
        return untold and len(view["isr"]) < least

    def hides_leaders(self, end: int) -> bool:
        return any(end == each for _, each in self.hidden())

    def dark(self) -> list[tuple[int, int]]:
        return [(r["start_ns"], or_never(r["end_ns"])) for r in self.cluster.blind]

    def hides_isr(self, start: int, end: int) -> bool:
        """Whether the ISR may have been another one in a part of a stretch."""
        return any(meet(each, (start, end)) for each in [*self.hidden(), *self.other_isrs()])

    def may_have_led(self, start: int, end: int) -> set[str] | None:
        """Who may have led unseen in a part of a stretch; None: anybody."""
        if any(meet(each, (start, end)) for each in self.hidden()):
            return None
        found: set[str] = set()
        for first, last in self.other_isrs():
            if meet((first, last), (start, end)):
                found |= self.at_both_ends(first, last)
        return found

    def at_both_ends(self, start: int, end: int) -> set[str]:
        views = self.in_force(start), self.in_force(end + TWO_LOOKS) if end < NEVER else None
        return {view["leader"] for view in views if view and view["leader"]}

    def surely(self, view: Row, moment: int) -> bool:
        """Whether a view that came before a moment was still what was so then."""
        return not any(
            view["time_ns"] <= start < moment < end
            for start, end in [*self.hidden(), *self.other_isrs()]
        )

    def unseen(self, view: Row) -> bool:
        """Whether nobody looked between a view and the look before."""
        return any(meet(each, (self.since(view), view["time_ns"])) for each in self.dark())

    def from_now(self, moment: int) -> list[Row]:
        """The view in force and those that follow."""
        now = self.in_force(moment)
        return ([now] if now else []) + [v for v in self.views if v["time_ns"] > moment]

    def values(self, key: str, first: int, last: int) -> set[str]:
        """What a setting of the topic may have been in a stretch: walk over its changes."""
        found = {str(self.cluster.topic.get(key, ""))}
        for fault, effects in sorted(self.known(), key=lambda each: int(each[0]["invoke_ns"])):
            invoke, proved, healing, healed = four(fault)
            value = effects["topic_settings"].get(key)
            if key == UNCLEAN and self.asks(fault):
                continue
            if value is not None and invoke <= last and healed > first:
                kept = {*found} if proved > first or healing <= last < NEVER else set()
                kept |= {*found} if last >= NEVER and healing < NEVER else set()
                found = kept | {value}
        return found

    def asks(self, fault: Row) -> bool:
        """Whether it asks for an unclean election by itself."""
        return self.cluster.options.get(fault["step"], {}).get("how") == "unclean"

    def known(self) -> Iterator[tuple[Row, Row]]:
        for fault in self.cluster.faults:
            effects = self.cluster.effects.get(fault["step"])
            if fault["nodes"] and effects is not None:
                yield fault, effects

    def unclean_within(self, first: int, last: int) -> int:
        """Whether unclean elections were allowed, or asked for, at some moment of a stretch."""
        asked = [fault for fault, _ in self.known() if self.asks(fault)]
        if any(f["invoke_ns"] <= last and four(f)[3] > first for f in asked):
            return YES
        if self.cluster.unclean_by_setting and "true" in self.values(UNCLEAN, first, last):
            return YES
        meeting = [f for f in self.unknown() if f["invoke_ns"] <= last and four(f)[3] > first]
        return MAYBE if meeting else NO

    def unknown(self) -> list[Row]:
        """Faults of which it is not known what they can do."""
        return [
            fault
            for fault in self.cluster.faults
            if fault["nodes"] and self.cluster.effects.get(fault["step"]) is None
        ]
