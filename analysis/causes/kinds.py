"""The kinds of causes that can permit an anomaly, with the records that each permits, in words.

A promise names the kinds that permit (analysis.checks.promise), docs/promises.md prints their
words, a `Cause` is one of a kind that happened in a run.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of cause: its name in evidence and reports, and which records it permits."""

    name: str
    records: str


EVERY = Kind(name="configuration", records="every one")
ABORTED = Kind(
    name="aborted",
    records="those of aborted sends; none that never left the client, was never sent or is "
    "unparsable",
)
ANOTHER_LEADER = Kind(
    name="another-leader",
    records="those whose send began before another broker was seen to lead its partition, or "
    "before the stale leader's end, if that was seen before the final read ended",
)
NOT_REPLICATED = Kind(
    name="not-replicated",
    records="those that another leader permits, unless that one had been in every ISR, under one "
    "leader in one epoch, for 1.5 times replica.lag.time.max.ms since they were acknowledged, or 3 "
    "times without leader epochs, where a follower truncates to its high watermark; time in which "
    "nobody looked, in which a fault could hide it, or after the leader's end, does not count",
)
MOVED_MEANWHILE = Kind(
    name="leader-moved-meanwhile",
    records="those whose send ended after another broker was seen to lead its partition, and began "
    "before that or before the stale leader's end",
)
STALE_METADATA = Kind(
    name="stale-metadata",
    records="none for certain: those whose send ended after another broker was seen to lead its "
    "partition are in doubt, since their client may not have known it when it sent them",
)
UNCLEAN_ELECTION = Kind(
    name="unclean-election",
    records="those whose partition came to be led by a broker outside its ISR, and outside an ISR "
    "of the time between the send's begin and its ack (or first delivery), and in none seen from "
    "then to that election; sends to the stale leader before its end count as before the change; "
    "who is in the ELR (KRaft) counts as in the ISR",
)
OLD_ISR = Kind(
    name="old-isr",
    records="those whose partition came to be led by an ISR that its committed metadata went back "
    "to, after a controller's disk was lost and before that was healed: by a broker that was out "
    "of ISR and ELR before, and acknowledged since then, as of an unclean election; of partitions "
    "whose metadata stayed none",
)
QUORUM_STRUCK = Kind(
    name="quorum-struck",
    records="those that went back after a controller's disk was lost and before that was healed",
)
TRUNCATION = Kind(
    name="truncation",
    records="those that an unclean election or, without leader epochs, another leader permits to "
    "be lost; under acks=1 what another record has the offset of counts from when it was read, "
    "since its ack tells of the leader alone",
)
AFTER_TRUNCATION = Kind(
    name="after-truncation",
    records="those shown after an unclean election of their partition or, without leader epochs, "
    "after another broker led it",
)
STRIKE = Kind(
    name="strike",
    records="those whose send began before the strike was done, in a partition whose whole ISR "
    "(with KRaft, ISR and ELR) was struck, or that a struck broker came to lead anew before it had "
    "left the ISR and come back; not where another one was in ISR or ELR then",
)
LEADER_STRUCK = Kind(
    name="leader-struck",
    records=f"{STRIKE.records}; under acks=1 also those that nobody was given, of a partition "
    "whose leader was struck",
)
AFTER_STRIKE = Kind(
    name="after-strike",
    records="those shown after a strike at the whole ISR of their partition began, or after a "
    "struck broker came to lead it anew before it had left the ISR and come back; where consumers "
    "read from followers, also after any strike until the struck broker had left the ISR and come "
    "back",
)
REPLICA_STRUCK = Kind(
    name="replica-struck",
    records="those that nobody but struck brokers lacks, each since its strike began and until it "
    "had left the ISR and come back",
)
INTERNAL = Kind(
    name="internal-topics",
    records="those shown after a strike or, where the brokers' default allows unclean elections, "
    "there are no leader epochs or commits wait for no other replica "
    "(offsets.commit.required.acks), after a fault that can move leadership: committed offsets and "
    "transactions are records of topics that nobody watches",
)
OFFSETS_GONE = Kind(
    name="offsets-gone",
    records="those shown after a fault that can set internal topics back, where a group whose "
    "committed offset is gone goes on at the log's end (auto.offset.reset=latest); in doubt where "
    "that is not told: an offset that was set back makes records come again, and passes over none",
)
RESET_TO_LATEST = Kind(
    name="reset-to-latest",
    records="those of the reset's partition that it passed over: from the position that the client "
    "left to the first record that it was given at the log's end",
)
UNSETTLED = Kind(
    name="unsettled-transaction",
    records="those whose transaction was not settled before a fault that can set internal topics "
    "back: no send of its client's next one was acknowledged, no other client was given its "
    "transactional.id, and no reader of committed records a record of it in their partition",
)
ACK_OF_ANOTHER_LEADER = Kind(
    name="ack-of-another-leader",
    records="acks that nobody was given the record of, and whose offset another one has, where "
    "another leader permits their loss",
)
COPY_OF_ANOTHER_LEADER = Kind(
    name="copy-of-another-leader",
    records="those that are elsewhere than acknowledged, where another leader permits the loss of "
    "the acknowledged copy",
)
ABORT_CUT = Kind(
    name="abort-marker-cut",
    records="those of aborted sends, and of sends whose commit nobody asked for, begun before an "
    "unclean election or a strike that permits losses, unless their transaction was settled before "
    "the elected broker left the ISR: an abort is answered before its markers are written",
)
ANY_LOG = Kind(
    name="any-log-set-back",
    records="every one, once a log of whichever partition may have been set back before the final "
    "read, by an unclean election, by another leader without leader epochs, or by a strike: what "
    "is made of a record lies in another partition",
)
PROCESSING_FAILED = Kind(
    name="processing-failed", records="those of which what was made certainly was not written"
)
READ_APART = Kind(
    name="read-apart",
    records="none for certain: those read at two offsets, in a partition whose final read is "
    "incomplete, are in doubt where an unclean election or a strike permits their loss",
)
FLIPPED_BIT = Kind(
    name="flipped-bit",
    records="those of the bit's partition that were not shown before it was flipped",
)
READ_AS_ANOTHER = Kind(
    name="read-as-another",
    records="those read elsewhere as well, in another partition, or never, in the bit's partition, "
    "that were not shown before it was flipped",
)
BIT_WHEN_READ = Kind(
    name="bit-when-read", records="those read while the bit was flipped, in the bit's partition"
)
BIT_AT_THE_END = Kind(
    name="bit-at-the-end",
    records="those of the bit's partition that were not shown before it was flipped, if it was not "
    "put back before the final read",
)
PRODUCER_FORGOTTEN = Kind(
    name="producer-forgotten",
    records="those whose send ended after a broker that led their partition then, or later, had "
    "started under a clock ahead by producer.id.expiration.ms, or had looked for old producers by "
    "it",
)
BEGUN_UNKNOWN = Kind(
    name="begin-unknown",
    records="none for certain: those before the first that the group was given are in doubt where "
    "auto.offset.reset is not told, or where its clients commit by themselves and a member died",
)
MEMBER_STOPPED = Kind(
    name="member-stopped",
    records="those whose member died, was revoked or got no answer to its commit after it was "
    "given them and before it processed a later record",
)
