"""Strikes and flipped bits: asked of one record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.support.permissions.cluster import (
    EVER,
    FLUSH,
    MAYBE,
    NEVER,
    NO,
    YES,
    Row,
    eligible,
    four,
    led_anew,
    or_never,
)
from tests.support.permissions.looks import Looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    nodes: frozenset[str]
    start: int
    end: int
    healed: int
    sure: int
    started: int = EVER  # its nodes were down until then
    heard_of: bool = False  # its nodes ended, so that Kafka knows

    @property
    def up(self) -> int:
        return max(self.start, self.started)


class Struck(Looks):
    """Whether a fault that takes what was written may have taken the record."""

    # --- strikes

    def struck(self, *, leader: bool = False) -> int:
        """Whether faults that take what was written took every copy that there need have been."""
        strikes = self.strikes()
        found = NO
        for strike in strikes:
            if self.begun < strike.end and strike.start < self.read:
                found = max(found, self.whole_isr(strike, strikes), self.led_anew(strike))
                if leader:
                    found = max(found, self.leader_hit(strike))
        return found

    def strikes(self) -> list[Strike]:
        """All that took or may have taken something of the partition."""
        found = []
        for fault in self.cluster.faults:
            effects = self.cluster.effects.get(fault["step"])
            takes = effects["takes"] if effects else "all"
            proved = fault["ok_ns"]
            kept = self.synced_from(fault["invoke_ns"], proved) if takes == "unsynced" else NEVER
            hit = {*fault["nodes"]} & {*self.cluster.brokers}
            if fault["nodes"] and takes != "nothing" and self.begun < kept and (hit or not effects):
                invoke, proved, _, healed = four(fault)
                sure = effects is not None and fault["ok_ns"] is not None
                found.append(
                    Strike(
                        nodes=frozenset(hit if effects else self.cluster.brokers),
                        start=invoke,
                        end=proved if sure else healed,
                        healed=healed,
                        sure=YES if sure else MAYBE,
                        started=self.down_until(fault),
                        heard_of=bool(effects and effects["ends_processes"]),
                    )
                )
        return [*found, *self.recoveries()]

    def down_until(self, fault: Row) -> int:
        """When the nodes that a fault ended were started, as far as nothing else starts them."""
        effects = self.cluster.effects.get(fault["step"])
        if effects and effects["ends_processes"] and not effects.get("starts_again"):
            return EVER if fault["heal_invoke_ns"] is None else int(fault["heal_invoke_ns"])
        return EVER

    def recoveries(self) -> Iterator[Strike]:
        """Starts of a broker with a flipped bit: it cuts its log off there."""
        for flip, flipped in self.bits():
            for fault, effects in self.known():
                _, _, start, healed = four(fault)
                both = self.altered(flip) & frozenset(fault["nodes"])
                flipped_before = flip["invoke_ns"] < start
                put_back = four(flip)[3] <= start
                if flipped == NO or not both or not effects["ends_processes"]:
                    continue
                if effects.get("starts_again"):
                    if self.cluster.effects[flip["step"]]:
                        yield from self.sometime(flip, fault, both)
                    continue
                if put_back:
                    continue
                if start < NEVER and flipped_before and self.cluster.effects[flip["step"]]:
                    proved = flip["ok_ns"] is not None and fault["ok_ns"] is not None
                    yield Strike(
                        nodes=both,
                        start=max(start, flip["invoke_ns"]),
                        end=healed,
                        healed=healed,
                        sure=YES if proved else MAYBE,
                    )

    def sometime(self, flip: Row, fault: Row, nodes: frozenset[str]) -> Iterator[Strike]:
        """The fault starts its nodes itself: once it began, at any moment until it is healed."""
        invoke, _, _, healed = four(fault)
        _, flipped, _, put_back = four(flip)
        certain = flip["ok_ns"] is not None and flipped <= invoke and put_back >= healed
        if certain:
            sure = YES if fault["ok_ns"] is not None else MAYBE
            yield Strike(nodes=nodes, start=invoke, end=invoke, healed=healed, sure=sure)
        if flip["invoke_ns"] < healed and put_back > invoke:
            yield Strike(nodes=nodes, start=invoke, end=healed, healed=healed, sure=MAYBE)

    def synced_from(self, struck: int, proved: int | None) -> int:
        """From when on everything was synced at once until a fault was proved."""
        changes = [t for fault, _ in self.known() for t in (four(fault)[1], four(fault)[3])]
        for moment in [EVER, *sorted(t for t in changes if t <= struck)]:
            if self.values(FLUSH, moment, or_never(proved)) == {"1"}:
                return moment
        return NEVER

    def whole_isr(self, strike: Strike, strikes: Sequence[Strike]) -> int:
        """Whether an ISR seen during a strike was hit by it and by those not healed yet."""
        before = [
            s for s in strikes if s.start <= strike.end and (s.healed > strike.start or s is strike)
        ]
        sure = {n for s in before for n in s.nodes if s.sure == YES}
        maybe = {n for s in before for n in s.nodes}
        found = NO
        for view in self.from_now(strike.start):
            all_hit = bool(eligible(view)) and eligible(view) <= maybe
            if view["time_ns"] <= strike.end and all_hit:
                certain = strike.sure == YES and eligible(view) <= sure
                certain = certain and self.surely(view, strike.start) and not self.guessed(view)
                found = max(found, YES if certain else MAYBE)
            elif self.since(view) <= strike.end and all_hit:
                found = max(found, MAYBE)
        return max(found, self.led_unseen(strike, maybe))

    def led_unseen(self, strike: Strike, nodes: set[str] | frozenset[str]) -> int:
        """Whether one of these may have led, and so been in the ISR, when nobody looked."""
        leaders = self.may_have_led(strike.start, strike.end)
        return MAYBE if leaders is None or leaders & nodes else NO

    def led_anew(self, strike: Strike) -> int:
        """Whether a struck broker came to lead before it had left the ISR and come back."""
        return max(self.led_again(node, strike) for node in strike.nodes)

    def led_again(self, node: str, strike: Strike) -> int:
        view = self.view_of_lead(node, strike)
        if view is None:
            return self.hidden_lead(strike.up, self.back(node, strike))
        if view["time_ns"] >= self.read:
            return NO
        chosen = self.chosen(view, strike)
        surely = strike.sure if self.after_start(view, strike) else min(strike.sure, MAYBE)
        return min(surely, chosen)

    def chosen(self, view: Row, strike: Strike) -> int:
        """Whether Kafka may have chosen a broker of which it knew that it had lost records: not
        where another one was eligible."""
        last = self.in_force(view["time_ns"] - 1)
        if not self.cluster.elr or not strike.heard_of or not last or last.get("elr") is None:
            return YES
        until = [v for v in self.from_now(strike.start) if v["time_ns"] <= view["time_ns"]]
        back = any(v.get("went_back") for v in until)
        if back or eligible(last) <= strike.nodes:
            return YES
        if unclean := self.unclean_within(max(self.since(view), strike.up), view["time_ns"]):
            return unclean
        epochs = [each["partition_epoch"] for each in (last, view)]
        one_change = None not in epochs and epochs[1] - epochs[0] == 1
        return NO if one_change and not self.unseen(view) else MAYBE

    def view_of_lead(self, node: str, strike: Strike) -> Any:
        """The first view that shows that a struck broker leads anew, before it has come back."""
        last, back = self.in_force(strike.start), self.back(node, strike)
        for view in self.views:
            if strike.start < view["time_ns"] <= back:
                up = view["time_ns"] > strike.started
                if view["leader"] == node and led_anew(last, view) and up:
                    return view
                last = view
        return None

    def after_start(self, view: Row, strike: Strike) -> bool:
        """Whether what a view shows surely came when the struck brokers were up again."""
        up_all_along = strike.started <= strike.start
        return self.since(view) >= strike.up or (up_all_along and not self.unseen(view))

    def hidden_lead(self, start: int, end: int) -> int:
        return MAYBE if any(h[0] < end and start < h[1] for h in self.hidden()) else NO

    # --- what a strike shows, whatever the record

    def after_strike(self) -> int:
        """Whether readers may be given what a strike left of the log."""
        found, strikes, shown = NO, self.strikes(), or_never(self.sent.shown)
        for strike in (each for each in strikes if each.start < self.read):
            if shown > strike.start:
                found = max(found, self.whole_isr(strike, strikes))
            for node in strike.nodes:
                found = max(found, self.shown_by(node, strike, shown))
                if self.cluster.follower_reads:
                    found = max(found, self.short(node, strike))
        return found

    def shown_by(self, node: str, strike: Strike, shown: int) -> int:
        """Whether it was led by a struck broker, which had not come back yet, before that was
        shown: since the look before the view that tells it, and where nobody looked at the view for
        certain."""
        view = self.view_of_lead(node, strike)
        if view is None:
            back = self.back(node, strike)
            hidden = [h for h in self.hidden() if h[0] < back and strike.up < h[1]]
            return MAYBE if any(shown > max(h[0], strike.up) for h in hidden) else NO
        if shown <= max(self.since(view), strike.up):
            return NO
        late = self.unseen(view) and shown <= view["time_ns"]
        surely = self.after_start(view, strike) and not late
        found = strike.sure if surely else min(strike.sure, MAYBE)
        return min(found, self.chosen(view, strike))

    def back(self, node: str, strike: Strike) -> int:
        """When a struck broker was seen in the ISR again after it had left it."""
        left = False
        for last, view in pairwise(self.from_now(strike.start)):
            # Where it was out before it was struck it may have come back before that, too.
            out = last["isr"] and node not in last["isr"]
            left |= bool(out) and view["time_ns"] > strike.end
            if view.get("went_back"):
                left = False
            elif left and node in view["isr"]:
                return int(view["time_ns"])
        return NEVER

    def lacking(self) -> int:
        """Whether each of the brokers that lack it was struck, and not back yet."""
        strikes = [each for each in self.strikes() if each.start < self.read]
        return min(
            max([NO, *(self.short(node, each) for each in strikes if node in each.nodes)])
            for node in self.sent.lacked_by
        )

    def short(self, node: str, strike: Strike) -> int:
        """Whether a struck broker may lack something at the look: surely, until nobody saw whether
        it was back."""
        looked, shown = self.sent.looked, or_never(self.sent.shown)
        looked = EVER if looked is None else looked
        back = self.back(node, strike)
        if not (strike.start < shown and looked <= back):
            return NO
        dark = [*self.hidden(), *self.other_isrs()]
        since = [max(h[0], strike.start) for h in dark if h[0] < back and strike.start < h[1]]
        return min(strike.sure, MAYBE) if since and looked > min(since) else strike.sure

    def leader_hit(self, strike: Strike) -> int:
        """Whether it hit the leader."""
        for view in self.from_now(strike.start):
            hit = view["time_ns"] <= strike.end and view["leader"] in strike.nodes
            if hit and self.surely(view, strike.start):
                return strike.sure
        return self.led_unseen(strike, strike.nodes)

    # --- flipped bits

    def bits(self) -> Iterator[tuple[Row, int]]:
        """Faults that flipped a bit of the partition, or may have."""
        for fault in self.cluster.faults:
            effects = self.cluster.effects.get(fault["step"])
            if not fault["nodes"]:
                continue
            if effects is None:
                yield fault, MAYBE
            elif effects["alters_stored_bytes"]:
                evidence = fault["evidence"] or ""
                mine = f"harness-{self.sent.partition}/" in evidence or "harness-" not in evidence
                yield fault, YES if mine else NO

    def altered(self, flip: Row) -> frozenset[str]:
        """Whose disks: those whose segments the proof names, if it names any of theirs."""
        proof, nodes = flip["evidence"] or "", frozenset(flip["nodes"])
        return frozenset(node for node in nodes if f" of {node} " in f"{proof} ") or nodes

    def bit(self, *, at_the_end: bool = False, of_log: bool = False) -> int:
        """Whether readers may have been given a changed record: any of its partition's, whatever
        the bit made of it, or one that was there and is not at the end. `of_log`: or been given
        none of its batch, whether they check CRCs or not."""
        if self.cluster.checks_crcs and not of_log:
            return NO
        found, shown = NO, or_never(self.sent.shown)
        for fault, sure in self.bits():
            if not at_the_end:
                late = fault["invoke_ns"] < min(self.read, shown)
                found = max(found, sure if late else NO)
                continue
            invoke, proved, _, healed = four(fault)
            in_time = self.begun < (proved if sure == YES else healed) and invoke < self.read
            stays = healed == NEVER or healed > self.read
            if in_time and stays and shown > invoke:
                found = max(found, sure)
        return found
