"""The rule against Raft itself: what it takes for committed no elected leader ever lacks.

A small Raft with KRaft's traits (a leader's first record, fetching followers, voters changed one at
a time and in force at once) does random things; nobody loses a disk. A reader looks meanwhile, copy
by copy, while Raft goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from harness.cluster.view.metadata_log.commit import (
    Committed,
    Copy,
    Electorate,
    perhaps,
    read_twice,
)
from harness.cluster.view.metadata_log.lineage import Lineage, Term
from harness.cluster.view.metadata_log.records import Voter

FIRST = frozenset({1, 2, 3})
STATIC = tuple(Voter(id=n) for n in sorted(FIRST))
Entry = tuple[int, frozenset[int] | None]  # epoch, and the voters that it names


@dataclass(kw_only=True)
class Peer:
    """One node; changes as the log does."""

    id: int
    log: list[Entry] = field(default_factory=list)
    epoch: int = 0
    leads: bool = False
    began: int = 0  # where its epoch begins, while it leads
    heard: dict[int, int] = field(default_factory=dict)  # how far others have got, it leading
    watermark: int = 0  # of its epoch
    most: int = 0  # of all its epochs

    @property
    def voters(self) -> frozenset[int]:
        return next((named for _, named in reversed(self.log) if named), FIRST)

    @property
    def place(self) -> tuple[int, int]:
        return (self.log[-1][0] if self.log else 0, len(self.log))

    def copy(self) -> Copy:
        electorates = tuple(
            Electorate(first=offset, voters=tuple(Voter(id=n) for n in sorted(named)))
            for offset, (_, named) in enumerate(self.log)
            if named
        )
        node = Voter(id=self.id)
        return Copy(node=node, lineage=_lineage(self.log), electorates=electorates)


def _lineage(log: list[Entry]) -> Lineage:
    terms: list[Term] = []
    for offset, (epoch, _) in enumerate(log):
        first = terms.pop().first if terms and terms[-1].epoch == epoch else offset
        terms.append(Term(epoch=epoch, first=first, end=offset + 1, mark=epoch))
    return tuple(terms)


class Raft:
    """Five nodes, of which three vote at first; how often what happens differs."""

    def __init__(self, random: Random) -> None:
        self.peers = {n: Peer(id=n) for n in range(1, 6)}
        self.random = random
        often = {self.elect: 3, self.append: 3, self.fetch: 8, self.revote: 1, self.read: 8}
        self.acts = {act: random.random() * weight for act, weight in often.items()}
        self.at_once = random.random()  # how much of a look is one moment
        self.memory = Committed(STATIC)
        self.reads: list[Copy] = []
        self.before = 0  # what was committed when the look began
        self.elections = self.revotes = self.looks = self.certain = 0

    def step(self) -> None:
        """Something happens."""
        (act,) = self.random.choices(list(self.acts), list(self.acts.values()))
        act(self.random.choice(list(self.peers.values())))

    def leader(self) -> Peer:
        """One that thinks that it leads, if there is any."""
        peers = list(self.peers.values())
        return self.random.choice([peer for peer in peers if peer.leads] or peers)

    def elect(self, one: Peer) -> None:
        if one.id not in one.voters:
            return
        epoch = one.epoch + 1
        reached = [peer for peer in self.peers.values() if self.random.random() < 0.6]
        votes = {one.id}
        for peer in reached:
            if peer is not one and peer.epoch < epoch:
                peer.epoch, peer.leads = epoch, False
                votes |= {peer.id} if one.place >= peer.place else set()
        one.epoch, one.leads = epoch, False
        if 2 * len(votes & one.voters) > len(one.voters):
            self.elections += 1
            self.has_all_that_is_committed(one)
            one.leads, one.began, one.heard, one.watermark = True, len(one.log), {}, 0
            one.log.append((epoch, None))

    def append(self, _: Peer) -> None:
        one = self.leader()
        if one.leads:
            one.log.append((one.epoch, None))

    def revote(self, _: Peer) -> None:
        """One voter more or less; only once the last change is committed, and something of its own
        epoch."""
        one = self.leader()
        changes = [offset for offset, (_, named) in enumerate(one.log) if named]
        if one.leads and one.watermark > max([one.began, *changes]):
            other = self.random.choice(list(self.peers))
            named = one.voters ^ {other}
            if len(named) >= 2:
                one.log.append((one.epoch, named))
                self.revotes += 1

    def fetch(self, one: Peer) -> None:
        leader = self.leader()
        if leader is one or not leader.leads or one.epoch > leader.epoch:
            return
        one.epoch, one.leads = leader.epoch, False
        same = next(
            (n for n in range(len(one.log), 0, -1) if leader.log[n - 1 : n] == one.log[n - 1 : n]),
            0,
        )
        leader.heard[one.id] = same
        self.count(leader)
        one.log = one.log[:same] + leader.log[same : same + self.random.randint(1, 3)]

    def count(self, leader: Peer) -> None:
        """LeaderState.maybeUpdateHighWatermark."""
        ends = [
            len(leader.log) if n == leader.id else leader.heard.get(n, 0) for n in leader.voters
        ]
        end = sorted(ends, reverse=True)[len(ends) // 2]
        if end > leader.began:
            leader.watermark = max(leader.watermark, end)
            leader.most = max(leader.most, end)

    def read(self, one: Peer) -> None:
        """The next copy, and perhaps more; each twice, then they are looked at."""
        number = len(self.peers)
        if not self.reads:
            self.before = max(peer.most for peer in self.peers.values())
        self.reads.append(self.peers[len(self.reads) % number + 1].copy())
        if len(self.reads) == 2 * number:
            pairs = zip(self.reads[:number], self.reads[number:], strict=True)
            self.look([read_twice(*pair) for pair in pairs])
            self.reads = []
        elif self.random.random() < self.at_once:
            self.read(one)

    def look(self, told: list[Copy]) -> None:
        """Nothing ever goes back, and where no more may be committed, all that was is known."""
        assert self.memory.take(told, 0) is None
        known = self.memory.commit.place.end if self.memory.commit else 0
        self.looks += 1
        if perhaps(told, STATIC) <= known:
            self.certain += 1
            assert known >= self.before

    def has_all_that_is_committed(self, one: Peer) -> None:
        """Leader completeness, of what the reader took for committed."""
        commit = self.memory.commit
        if commit is not None:
            assert len(one.log) >= commit.place.end
            assert one.log[commit.place.end - 1][0] == commit.place.epoch


def test_no_leader_lacks_what_was_taken_for_committed():
    done = [0] * 5
    for seed in range(100):
        raft = Raft(Random(seed))
        for _ in range(400):
            raft.step()
        end = raft.memory.commit.place.end if raft.memory.commit else 0
        more = (raft.elections, raft.revotes, raft.looks, raft.certain, end)
        done = [each + one for each, one in zip(done, more, strict=True)]

    assert min(done) > 50, done
