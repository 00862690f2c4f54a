"""Random stories of KRaft clusters: eligible leaders, and metadata that goes back.

As those of tests.support.permissions.random_clusters, but that a partition has an ELR (KIP-966) as
Kafka keeps it: who leaves an ISR below min.insync.replicas is eligible until the ISR is large
enough again, or it restarts without a clean shutdown. Who is eligible leads where nobody is in
sync, the last leader where nobody is eligible. Each change raises the partition's own epoch. A
quorum may forget: then a state of before is there again. Some views tell no ELR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.support.permissions.cluster import CONTROLLERS, UNCLEAN, Cluster
from tests.support.permissions.random_clusters import (
    BROKERS,
    GAPS,
    LOOK,
    SECOND,
    START,
    Case,
    faults_of,
    records_of,
)

# What a story is about, and what happens first, then, and in the end.
_ANY = ("shrink", "grow", "move", "unclean", "down", "unclean-start", "back", "clear", "controller")
_ELECTED = (("shrink", "shrink"), ("down", "down", "shrink", "unclean-start"))
THEMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "eligible": (*_ELECTED, ("unclean", "unclean", "down", "grow")),
    "untold": (("shrink", "shrink"), ("shrink", "grow"), ("unclean", "unclean", "down")),
    "last-known": (("down", "shrink"), ("unclean-start", "down"), ("unclean", "unclean", "same")),
    "forgotten": (("shrink",), ("back",), ("shrink", "grow", "same"), ("move", "move", "down")),
    "deposed": (("controller",), ("controller", "shrink", "grow"), ("move", "grow", "controller")),
    "anything": (_ANY, _ANY, _ANY),
}
ABOUT: dict[str, tuple[str, ...]] = {
    "eligible": ("lose-disk", "lose-power", "kill", "elect", "set-config", "command"),
    "untold": ("lose-disk", "lose-disk", "kill"),
    "last-known": ("lose-disk", "lose-power", "kill", "kill"),
    "forgotten": ("lose-disk", "lose-disk", "lose-disk", "lose-power", "kill", "command"),
    "deposed": ("kill", "cut", "pause", "pause"),
    "anything": ("lose-disk", "lose-power", "kill", "elect", "cut", "pause", "command"),
}
_BROKERS, _CONTROLLERS = ([(name,) for name in names] for names in (BROKERS, CONTROLLERS))
HITS: dict[str, tuple[tuple[str, ...], ...]] = {
    "eligible": (*_BROKERS, BROKERS[:2], BROKERS[1:], BROKERS),
    "untold": (*_BROKERS, BROKERS[:2]),
    "last-known": (*_BROKERS, BROKERS[:2], BROKERS),
    "forgotten": (*_CONTROLLERS, *_CONTROLLERS, *_BROKERS, CONTROLLERS[:2]),
    "deposed": (*_BROKERS, CONTROLLERS[:1], CONTROLLERS[:2], CONTROLLERS[1:]),
    "anything": (*_BROKERS, *_CONTROLLERS, BROKERS, CONTROLLERS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What is really so of a partition."""

    leader: str | None
    isr: tuple[str, ...]
    elr: tuple[str, ...]
    last: str | None  # who led at last, where nobody is in sync
    epoch: int
    changed: int

    def after(self, step: str, draw: st.DrawFn, elr_below: int) -> _State:
        """One change, as far as it is possible now; each comes with another partition epoch."""
        in_sync = [name for name in self.isr if name != self.leader]
        outside = [name for name in BROKERS if name not in self.isr]
        if step == "move" and in_sync:
            return self._led(draw(st.sampled_from(in_sync)))
        if step == "same" and self.leader:
            return self._led(self.leader)
        if step == "unclean" and outside:
            name = draw(st.sampled_from(outside))
            return replace(self._led(name), isr=(name,), elr=())
        if step in ("unclean-start", "clear") and self.elr:
            return self._less_eligible(step, draw)
        return self._in_isr(step, in_sync, outside, draw, elr_below)

    def _in_isr(
        self,
        step: str,
        in_sync: Sequence[str],
        outside: Sequence[str],
        draw: st.DrawFn,
        elr_below: int,
    ) -> _State:
        if step == "grow" and outside and self.leader:
            return self._kept((*self.isr, draw(st.sampled_from(outside))), elr_below)
        if step == "shrink" and in_sync and self.leader:
            gone = draw(st.sampled_from(in_sync))
            return self._kept([name for name in self.isr if name != gone], elr_below)
        if step == "down" and self.leader:
            return self._without(self.leader, draw, elr_below)
        return self._elected()

    def _less_eligible(self, step: str, draw: st.DrawFn) -> _State:
        """One started whose shutdown was not clean, or min.insync.replicas was changed."""
        gone = draw(st.sampled_from(self.elr))
        left = replace(self, elr=tuple(n for n in self.elr if n != gone), changed=self.changed + 1)
        if step == "clear":
            return replace(left, elr=(), last=None)
        return left._elected() if draw(st.booleans()) else left

    def _without(self, gone: str, draw: st.DrawFn, elr_below: int) -> _State:
        """The leader is fenced: another one leads if there is one, or nobody."""
        isr = tuple(name for name in self.isr if name != gone)
        if not isr and not elr_below:  # the last one stays
            return replace(self, leader=None, epoch=self.epoch + 1, changed=self.changed + 1)
        left = replace(self._kept(isr, elr_below), leader=None, epoch=self.epoch + 1)
        left = replace(left, last=gone if not isr else None)
        return left._elected() if draw(st.integers(0, 3)) else left

    def _elected(self) -> _State:
        """Somebody leads if he can without an unclean election."""
        if self.leader is not None:
            return self
        if self.isr:
            return replace(self._led(self.isr[0]), epoch=self.epoch + 1)
        if self.elr:
            first, *others = self.elr
            return replace(self._led(first), isr=(first,), elr=tuple(others), last=None)
        if self.last:
            return replace(self._led(self.last), isr=(self.last,), last=None)
        return self

    def _led(self, name: str) -> _State:
        return replace(self, leader=name, epoch=self.epoch + 1, changed=self.changed + 1)

    def _kept(self, isr: Sequence[str], elr_below: int) -> _State:
        """Another ISR, and who is eligible beside it."""
        eligible = {*self.isr, *self.elr} - {*isr}
        elr = tuple(sorted(eligible)) if len(isr) < elr_below else ()
        return replace(self, isr=tuple(sorted(isr)), elr=elr, changed=self.changed + 1)


@st.composite
def kraft_clusters(draw: st.DrawFn) -> Case:
    """A story and its records."""
    theme = draw(st.sampled_from(list(THEMES)))
    has_elr, min_isr = draw(st.integers(0, 3)) > 0, draw(st.sampled_from([1, 2, 2, 3]))
    views, blind, end = _looked(draw, theme, min_isr if has_elr else 0)
    for view in views if theme == "untold" else ():
        view["elr"] = view["partition_epoch"] = None
    several = [0, 1, 1, 2] if theme == "deposed" else [1, 1, 2, 2, 3]
    around = views[:2] if theme == "forgotten" else views
    faults, plan, options = faults_of(draw, around, ABOUT[theme], HITS[theme], several)
    acks = "1" if theme == "deposed" else draw(st.sampled_from(["1", "all", "all", "all"]))
    allowed = ["true", "false"] if theme in ("eligible", "untold", "last-known") else ["false"]
    cluster = Cluster(
        views=views,
        blind=blind,
        faults=faults,
        effects=plan,
        options=options,
        brokers=BROKERS,
        topic={UNCLEAN: draw(st.sampled_from(allowed))},
        acks=acks,
        retries=5,
        lag_max_ms=2_000,
        kraft=True,
        dynamic=draw(st.integers(0, 3)) == 0,
        combined=draw(st.integers(0, 3)) == 0,
        elr=has_elr,
        min_isr=min_isr,
        unclean_by_setting=draw(st.integers(0, 3)) > 0,
        read_ended={0: end},
    )
    return Case(cluster=cluster, records=tuple(records_of(draw, cluster, end)))


def _looked(
    draw: st.DrawFn, theme: str, elr_below: int
) -> tuple[list[dict[str, Any]], list[Any], int]:
    """What a look every 50 ms shows of a random course of events; when the final read ended."""
    controller = draw(st.sampled_from(CONTROLLERS))
    hides_controllers = theme == "deposed" and draw(st.integers(0, 2)) == 0
    first = BROKERS if theme in ("forgotten", "deposed") else BROKERS[: draw(st.integers(2, 3))]
    now_state = _State(leader=first[0], isr=first, elr=(), last=None, epoch=4, changed=9)
    earlier, went_back = [now_state], False
    shown: tuple[_State, str | None] | None = None
    views: list[dict[str, Any]] = []
    blind: list[dict[str, Any]] = []
    dark_since, last_look, now = None, START - LOOK, START
    looks = draw(st.integers(4, 9))
    for number in range(looks):
        seen = (now_state, None if hides_controllers else controller)
        if dark_since is None and (seen != shown or went_back):
            views.append(_view(now, last_look if shown else None, *seen, went_back=went_back))
            shown, went_back = seen, False
        steps = THEMES[theme][len(THEMES[theme]) * number // looks]
        for step in draw(st.permutations(steps))[: draw(st.sampled_from([1, 2, 2, 3]))]:
            if step == "controller":
                controller = draw(st.sampled_from(CONTROLLERS))
            elif step == "back":
                now_state, went_back = draw(st.sampled_from(earlier)), True
            else:
                now_state = now_state.after(step, draw, elr_below)
                earlier.append(now_state)
        gap, told = draw(GAPS), dark_since is None
        last_look, now = (now + gap - gap % LOOK if told else last_look), now + gap + LOOK
        if dark_since is None and draw(st.integers(0, 19)) == 0:
            dark_since = last_look
        elif dark_since is not None and draw(st.booleans()):
            blind.append({"start_ns": dark_since, "end_ns": now - LOOK // 2})
            dark_since = None
    if dark_since is not None:
        blind.append({"start_ns": dark_since, "end_ns": None})
    return views, blind, now + draw(st.sampled_from([LOOK, 5 * SECOND, 40 * SECOND]))


def _view(
    now: int, since: int | None, state: _State, controller: str | None, *, went_back: bool
) -> dict[str, Any]:
    return {
        "time_ns": now,
        "since_ns": since,
        "partition": 0,
        "leader": state.leader,
        "isr": list(state.isr),
        "leader_epoch": state.epoch,
        "controller": controller,
        "elr": list(state.elr),
        "partition_epoch": state.changed,
        "went_back": True if went_back else None,
    }
