"""Producers that a broker may have forgotten by a clock of tomorrow: asked of one record."""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.permissions.cluster import MAYBE, NEVER, NO, YES, Row, four, or_never
from tests.support.permissions.looks import Looks

A_DAY_S, LOOKS_EACH = 86_400, 5 * 10**9


class Forgotten(Looks):
    """Whether a send that is there twice was sent again to who knew it no more."""

    def forgotten(self) -> int:
        ended, found = or_never(self.sent.known), NO
        for fault in self.cluster.faults:
            effects = self.cluster.effects.get(fault["step"])
            if effects is None and fault["nodes"] and ended >= fault["invoke_ns"]:
                found = max(found, MAYBE)
            if effects is None or effects["skews_clock_s"] < A_DAY_S:
                continue
            for broker in fault["nodes"]:
                for since, sure in self.moments(fault, broker):
                    if broker in self.cluster.brokers and ended >= since:
                        found = max(found, min(sure, self.led(broker, since)))
        return found

    def moments(self, skew: Row, broker: str) -> Iterator[tuple[int, int]]:
        """When it forgot, and whether it surely did."""
        wrong_from, surely_from, surely_to, wrong_to = four(skew)
        yield wrong_from, MAYBE
        if surely_from < NEVER and surely_from + LOOKS_EACH <= surely_to:
            yield surely_from + LOOKS_EACH, YES
        for fault, effects in self.known():
            if not effects["ends_processes"] or broker not in fault["nodes"]:
                continue
            ended, _, starting, started = four(fault)
            first = ended if effects["starts_again"] else starting
            last = started if effects["starts_again"] else starting
            kept = surely_to >= NEVER or last <= surely_to
            if first < NEVER and surely_from <= first and kept:
                yield first, YES
            elif (first >= NEVER or first < wrong_to) and (last >= NEVER or wrong_from <= last):
                yield max(wrong_from, first if first < NEVER else wrong_from), MAYBE

    def led(self, broker: str, since: int) -> int:
        """Whether it led then, or later."""
        if any(view["leader"] == broker for view in self.from_now(since)):
            return YES
        return MAYBE if any(end > since for _, end in self.hidden()) else NO
