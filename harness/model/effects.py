"""A fault's possible effects on a cluster, as far as promises depend on them.

    kill       leadership where-it-hits, ends processes
    roll       leadership where-it-hits, ends processes and starts them again
    pause      leadership where-it-hits, halts processes
    cut        leadership anywhere; from = "clients": if-seen
    lose-disk  leadership anywhere, takes all
    dump-log   none of all this

A verb states its effects in its own file, as a function of its options and its target. run.json's
plan keeps them, so that a stored run is judged by what was known when it was made. Unknown effects
(None) permit nothing: what they could excuse is unknown.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

# Whether another broker may lead because of it: no; only where that is seen, since brokers and
# ensemble hear each other as ever; where it hits a leader, or half of the ensemble; whoever is hit.
Leadership = Literal["stays", "if-seen", "where-it-hits", "anywhere"]
# What a node may lack afterwards of what it had written: only what no sync had put on its disk?
Takes = Literal["nothing", "unsynced", "all"]


class Effects(BaseModel):
    """What one fault can do, whoever plays its target's part when it comes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    leadership: Leadership = "stays"
    takes: Takes = "nothing"
    alters_stored_bytes: bool = False
    ends_processes: bool = False
    starts_again: bool = False  # those it ended, itself, some time before it is healed
    halts_processes: bool = False  # they do nothing until it is healed, and then go on
    permanent: bool = False  # its healing undoes nothing, so that nobody can wait for it
    clients_only: bool = False  # it touches workers, no node of the cluster
    skews_clock_s: float = 0.0  # by so much a node's wall clock is ahead; negative: behind
    topic_settings: dict[str, str] = {}  # of the run's topic, in force from then on
    may_change_settings: bool = False  # of whatever brokers go by
    adds_partitions: Annotated[int, Field(ge=0, le=100)] = 0  # to the run's topic

    @property
    def moves_leaders(self) -> bool:
        """Whether it can move leadership; links to clients only (if-seen) hide nothing."""
        return self.leadership in ("where-it-hits", "anywhere") and not self.clients_only

    def at_worker(self) -> Effects:
        """The effects at a worker of a fault with these effects at a node: its process may end or
        halt."""
        return Effects(
            clients_only=True,
            ends_processes=self.ends_processes,
            halts_processes=self.halts_processes,
        )
