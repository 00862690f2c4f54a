"""Unclean elections, and those by an ISR that a quorum had forgotten to be old: asked of one
record."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.support.permissions.cluster import (
    MAYBE,
    NEVER,
    NO,
    YES,
    Row,
    eligible,
    four,
    or_never,
    told,
)
from tests.support.permissions.leaders import Leaders


class Elections(Leaders):
    """Whether a broker came to lead that need not have had the record."""

    def unclean_election(self) -> int:
        """Whether one did that was elected where that was allowed."""
        found = NO
        for view, old, new in self.elections():
            change = view["time_ns"]
            allowed = self.unclean_within(self.since(view), change)
            each = min(self.before(old, change), allowed, self.lacked(new, change))
            found = max(found, self.in_time(view, each))
        return max(found, self.hidden_election(self.unclean_within))

    def by_an_old_isr(self) -> int:
        """Whether one did after the metadata of its partition had gone back."""
        found = NO
        for view, old, new in self.elections():
            each = min(self.before(old, view["time_ns"]), self.forgot(new, view))
            found = max(found, self.in_time(view, each))
        for back in self.backs(self.read - 1):
            if back["leader"] is None and not eligible(back) and self.begun < back["time_ns"]:
                found = max(found, self.quorum_hit(back))
        return max(found, self.hidden_election(self.forgot_within))

    def in_time(self, view: Row, found: int) -> int:
        """What an election counts for that a view shows: it must come before the final read."""
        if view["time_ns"] < self.read:
            return found
        return min(found, MAYBE) if self.since(view) < self.read and self.unseen(view) else NO

    def hidden_election(self, possible: Callable[[int, int], int]) -> int:
        """Whether nobody looked when there may have been one, of whom nobody saw to have had it."""
        for start, end in [*self.hidden(), *self.other_isrs()]:
            counts = self.begun < self.hidden_end_of(start, end)
            if start < self.read and counts and possible(start, end):
                had = [self.had(broker, start) for broker in self.cluster.brokers]
                if not all(had):
                    return MAYBE
        return NO

    def had(self, broker: str, until: int) -> bool:
        """Whether a look from the ack until a moment showed a broker in the ISR or the ELR."""
        known = or_never(self.sent.known)
        return any(
            broker in eligible(view) and first <= until and min(last, until) > known
            for view, first, last in self.looks()
        )

    def looks(self) -> Iterator[tuple[Row, int, int]]:
        """Each view, with the first look and the end of the looks that surely showed it."""
        for view, later in zip(self.views, [*self.views[1:], None], strict=False):
            yield view, view["time_ns"], self.since(later) if later else NEVER

    def lacked(self, new: str, change: int) -> int:
        """Whether a broker was outside ISR and ELR from the send's begin to its ack, and in none
        seen from then to its election."""
        begun = min(self.begun, change - 1)
        known = min(or_never(self.sent.known), change - 1) if begun == self.begun else change - 1
        before = [view for view in self.views if view["time_ns"] < change and told(view)]
        if before and new in eligible(before[-1]):
            return NO  # it was no unclean one
        outside, looked = NO, change
        for view, _, until in self.looks():
            if view["time_ns"] >= change:
                looked = self.since(view)
                break
            if new in eligible(view) and until > known:
                return NO
            later = self.next_view(view)
            ended = later["time_ns"] if later else NEVER
            if self.since(view) <= known and begun < ended and new not in eligible(view):
                outside = max(outside, YES) if told(view) else max(outside, MAYBE)
        if before and self.guessed(before[-1]):
            return min(outside, MAYBE)
        return min(outside, MAYBE) if self.hides_isr(min(known, looked), change) else outside

    # --- metadata that went back

    def backs(self, until: int) -> list[Row]:
        return [v for v in self.views if v.get("went_back") and v["time_ns"] <= until]

    def forgot(self, new: str, elected: Row) -> int:
        """Whether who was elected had been out before the metadata went back, and lacked the
        record since."""
        found = NO
        for back in self.backs(elected["time_ns"]):
            moment = back["time_ns"]
            earlier = [v for v in self.views if v["time_ns"] < moment and told(v)]
            if (
                not earlier
                or self.back_since(new, back, elected)
                or self.followed(new, back, elected)
            ):
                continue
            lacked = YES if self.out_with(new, earlier) else NO
            if self.hides_isr(self.out_since(new, earlier), elected["time_ns"]):
                lacked = min(lacked, MAYBE)
            found = max(found, min(lacked, self.quorum_hit(back)))
        return found

    def out_with(self, new: str, earlier: list[Row]) -> bool:
        """Whether it was out at last, and the record came to be known since."""
        if new in eligible(earlier[-1]):
            return False
        return or_never(self.sent.known) >= self.out_since(new, earlier)

    def out_since(self, new: str, earlier: list[Row]) -> int:
        """The look before the first view of its last time outside."""
        since = self.since(earlier[-1])
        for view in reversed(earlier):
            if new in eligible(view):
                break
            since = self.since(view)
        return since

    def back_since(self, new: str, back: Row, elected: Row) -> bool:
        """Whether it left the ISR and came back after that."""
        left = False
        for view in self.views:
            if back["time_ns"] <= view["time_ns"] < elected["time_ns"]:
                left |= told(view) and new not in eligible(view)
                if left and new in view["isr"]:
                    return True
        return False

    def followed(self, new: str, back: Row, elected: Row) -> bool:
        """Whether it had followed a leader of an epoch that nobody had seen before, for so long
        that it has the record."""
        seen = [v["leader_epoch"] for v in self.views if v["time_ns"] < back["time_ns"]]
        newest = max((epoch for epoch in seen if epoch is not None), default=-1)
        later = [
            view
            for view in self.views
            if view["time_ns"] >= back["time_ns"] and (view["leader_epoch"] or -1) > newest
        ]
        return bool(later) and self.had_by(new, elected, unknown=True, among=later)

    def quorum_hit(self, back: Row) -> int:
        """Whether controllers lost what they had written, and were not all level again, before
        the look that may have shown it."""
        since, seen = self.since(back), back["time_ns"]
        found = [sure for ns, over, sure in self.quorum_strikes() if ns < seen and since < over]
        return max(found, default=NO)

    def forgot_within(self, first: int, last: int) -> int:
        """Whether the metadata may have gone back in a stretch that nobody saw."""
        return MAYBE if any(last > ns for ns, _, _ in self.quorum_strikes()) else NO

    def quorum_strikes(self) -> Iterator[tuple[int, int, int]]:
        if not self.cluster.kraft:
            return
        empty: set[str] = set()
        quorum = {*self.cluster.quorum}
        for fault in sorted(self.cluster.faults, key=lambda each: int(each["invoke_ns"])):
            effects = self.cluster.effects.get(fault["step"])
            over = NEVER if self.cluster.dynamic else four(fault)[3]
            if effects is None:
                if fault["nodes"]:
                    yield fault["invoke_ns"], over, MAYBE
                continue
            hit = {*fault["nodes"]} & quorum
            if hit and effects["takes"] == "unsynced":
                yield fault["invoke_ns"], over, MAYBE
            elif hit and effects["takes"] == "all":
                empty |= hit
                if not self.cluster.dynamic or len(quorum - empty) <= len(quorum) / 2:
                    yield fault["invoke_ns"], over, MAYBE if fault["ok_ns"] is None else YES
