"""Another leader, a stale one, an unclean election: asked of one record."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from tests.support.permissions.cluster import (
    MAYBE,
    NEVER,
    NO,
    TWO_LOOKS,
    YES,
    Row,
    or_never,
    span,
    term,
    told,
)
from tests.support.permissions.looks import Looks

SESSION, KRAFT_SESSION, FAILOVER = 18 * 10**9, 9 * 10**9, 3 * 10**9


def around(number: int, shown: list[tuple[Row, int]]) -> list[tuple[Row, int]]:
    """The views of one term, with until when each was seen, of which this is one."""
    first = last = number
    while first and term(shown[first - 1][0]) == term(shown[number][0]):
        first -= 1
    while last + 1 < len(shown) and term(shown[last + 1][0]) == term(shown[number][0]):
        last += 1
    return shown[first : last + 1]


class Leaders(Looks):
    """Whether a change of leaders may have cost the record."""

    # --- another leader

    def another_leader(self) -> int:
        """Whether another broker led after the send began, or it may have gone to a stale one."""
        return self.moved_until(self.read - 1)

    def not_replicated(self) -> int:
        """The same of what the new leader need not have had: for how long was it in every ISR since
        the send was acknowledged?"""

        def lacking(view: Row, old: str, new: str) -> int:
            before = self.before(old, view["time_ns"])
            if before == YES and not self.had_by(new, view, unknown=False):
                return YES
            return NO if self.had_by(new, view, unknown=True) else min(MAYBE, before)

        return self.moved_until(self.read - 1, lacking)

    def had_by(
        self, new: str, elected: Row, *, unknown: bool, among: list[Row] | None = None
    ) -> bool:
        """Whether a broker certainly had fetched the record before it was elected."""
        known = or_never(self.sent.known)
        # Without epochs its high watermark counts, which lags by as much again.
        needed = int(self.cluster.lag_max_ms * (1_500_000 if self.cluster.epochs else 3_000_000))
        views = [v for v in among or self.views if v["time_ns"] <= elected["time_ns"]]
        shown = [(view, self.since(later)) for view, later in pairwise(views)]
        counted = 0
        for number, (view, until) in enumerate(shown):
            in_term = around(number, shown)
            if number == 0 or term(shown[number - 1][0]) != term(view):
                counted = 0
            if told(view) and new not in view["isr"]:
                counted = 0
                continue
            if not told(view) or view["leader"] in (None, new):
                continue
            start, stop = max(known, view["time_ns"]), min(until, self.alive(in_term))
            who = {new, view["leader"], view["controller"]}
            for a, b in self.clear(start, stop, who, unknown) if start < stop else ():
                counted += b - a
            if counted >= needed:
                return True
        return False

    def alive(self, in_term: list[tuple[Row, int]]) -> int:
        """Until when a term's leader certainly lived: until a fault hit it, or a session before
        another term was seen."""
        begun, over = in_term[0][0]["time_ns"], in_term[-1][1]
        hit = [
            int(fault["invoke_ns"])
            for fault, _ in self.known()
            if fault["ok_ns"] is not None and in_term[0][0]["leader"] in fault["nodes"]
        ]
        return max([self.session_before(over), *(ns for ns in hit if begun <= ns <= over)])

    def session_before(self, over: int) -> int:
        """When who was found gone then had still been there, whichever controller found it."""
        if not self.cluster.kraft:
            return over - SESSION
        if not any(view["controller"] for view in self.views):
            return over - 2 * KRAFT_SESSION - FAILOVER
        lived = over - KRAFT_SESSION
        for number in range(len(self.views) - 1, 0, -1):
            view, last = self.views[number], self.views[number - 1]
            anew = view["controller"] != last["controller"]
            if anew and lived < view["time_ns"] <= over:
                lived = min(lived, self.since(view) - KRAFT_SESSION)
        return lived

    def moved_meanwhile(self) -> int:
        """The same of a change that was seen before the send ended."""
        return self.moved_until(min(or_never(self.sent.known), self.read - 1))

    def moved_until(self, shown: int, judged: Callable[[Row, str, str], int] | None = None) -> int:
        """Whether some change of leaders that was seen until then concerns the send: as one before
        it, unless told how."""
        found = NO
        for view, old, new in self.elections():
            each = judged(view, old, new) if judged else self.before(old, view["time_ns"])
            if view["time_ns"] <= shown:
                found = max(found, each)
            elif self.since(view) <= shown and self.unseen(view):
                found = max(found, min(MAYBE, each))
        for start, end in self.hidden():
            if start <= shown and self.begun < self.hidden_end(end):
                found = max(found, MAYBE)
        return found

    def before(self, old: str, change: int) -> int:
        """Whether the send counts as one before a change of leaders."""
        if self.begun < self.until(old, change):
            return YES
        return MAYBE if self.begun < self.until(old, change, unknown=True) else NO

    def hidden_end(self, end: int) -> int:
        """Until when somebody who led unseen, until `end`, may acknowledge on. Before the first
        view nothing had happened to the cluster yet."""
        now = self.in_force(min(end + TWO_LOOKS, NEVER))
        if now is None or end == NEVER or end == self.views[0]["time_ns"]:
            return end
        others = {*self.cluster.brokers} - {now["leader"]} if now["leader"] else set()
        return max([end, *(self.until(broker, end, unknown=True) for broker in others)])

    def hidden_end_of(self, start: int, end: int) -> int:
        if self.hides_leaders(end):
            return self.hidden_end(end)
        now, leaders = self.in_force(min(end + TWO_LOOKS, NEVER)), self.at_both_ends(start, end)
        if end == NEVER or now is None or not now["leader"] or len(leaders) < 2:
            return end
        others = leaders - {now["leader"]}
        return max([end, *(self.until(broker, end, unknown=True) for broker in others)])

    # --- a stale leader's end

    def until(self, old: str, change: int, *, unknown: bool = False) -> int:
        """Until when a leader that was deposed at `change` may acknowledge on: walk over the
        moments after it, up to the first that shows that it knows."""
        if change >= NEVER:
            return NEVER
        ends = [NEVER, self.process_ended(old, change), self.was_fetching(old, change, unknown)]
        left = False
        for view in self.from_now(change):
            if view["leader"] == old and view["time_ns"] > change:
                ends.append(view["time_ns"])
            if told(view) and old not in view["isr"]:
                left = True
            elif told(view) and view.get("went_back"):
                left = False
            elif told(view) and left:
                ends.append(view["time_ns"])
        return max(change, min(ends))

    def process_ended(self, name: str, change: int) -> int:
        """When its process was proved to be gone; a new one that runs before the change says
        nothing of whom it takes for the leader."""
        ends = [NEVER]
        for fault, effects in self.known():
            if effects["ends_processes"] and name in fault["nodes"] and fault["ok_ns"] is not None:
                down_until = or_never(fault["heal_invoke_ns"])
                if effects["starts_again"]:
                    down_until = fault["invoke_ns"]
                if down_until >= change or (
                    fault["ok_ns"] >= change and not effects["starts_again"]
                ):
                    ends.append(max(fault["ok_ns"], change))
        return min(ends)

    def was_fetching(self, old: str, change: int, unknown: bool) -> int:
        """When it had been in every ISR for long enough under one leader of one epoch."""
        needed = int(self.cluster.lag_max_ms * 1_500_000)
        views = self.from_now(change)
        gone, term = 0, None
        for view, later in zip(views, [*views[1:], None], strict=True):
            if told(view) and old not in view["isr"]:
                return NEVER
            start = max(change, view["time_ns"])
            stop = later["time_ns"] if later else NEVER
            if (view["leader"], view["leader_epoch"]) != term:
                gone, term = 0, (view["leader"], view["leader_epoch"])
            if not told(view) or view["leader"] is None or view["leader"] == old:
                continue
            if view.get("went_back"):
                continue
            who = {old, view["leader"], view["controller"]}
            for a, b in self.clear(start, stop, who, unknown):
                if gone + (b - a) >= needed:
                    return a + needed - gone
                gone += b - a
        return NEVER

    def clear(self, start: int, stop: int, who: set[str], unknown: bool) -> list[tuple[int, int]]:
        """The parts of a stretch in which somebody looked and nothing could hide a fetch."""
        hiding = [*self.dark()]
        hiding += [span(f) for f in self.cluster.faults if self.hides(f, who, unknown)]
        cuts = sorted({start, stop, *(t for h in hiding for t in h if start < t < stop)})
        return [
            (a, b) for a, b in pairwise(cuts) if not any(h[0] <= a and b <= h[1] for h in hiding)
        ]

    def hides(self, fault: Row, who: set[str], unknown: bool) -> bool:
        """Something that can move leadership, at one of the three or the links between them."""
        effects = self.cluster.effects.get(fault["step"])
        if not (unknown if effects is None else effects["leadership"] not in ("stays", "if-seen")):
            return False
        if not fault["nodes"]:
            return False
        peers = self.cluster.options.get(fault["step"], {}).get("from", "clients")
        quorum = {*self.cluster.quorum}
        several = len({*fault["nodes"]} & quorum) >= len(quorum) / 2
        return bool({*fault["nodes"]} & who) or peers != "clients" or several
