"""What the numbers of "What was counted" are, in words: a name without them tells nobody anything.

docs/report.md defines each; a test holds that none of report.json's counts is left without words.
"""

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "acked": "acknowledged",
    "acked_isr_alone": "acknowledged by the leader alone",
    "acked_below_log_start": "acknowledged, below the log's start",
    "expired_unread": "deleted before the group was given them",
    "superseded": "acknowledged, superseded",
    "acked_without_offset": "acknowledged without an offset",
    "indeterminate": "in doubt",
    "indeterminate_landed": "in doubt, landed",
    "indeterminate_not_landed": "in doubt, not landed",
    "failed_landed": "failed, landed",
    "unacknowledged_lost": "unacknowledged and lost",
    "lookups": "look-ups",
    "lookups_not_found": "look-ups not found",
    "torn_records": "half-written entries",
    "worker_errors": "clients' own errors",
}
MEANINGS: Mapping[str, str] = {
    "sends": "records that the producers tried to write",
    "acked": "of these, acknowledged by the cluster",
    "acked_isr_alone": "acknowledged while the leader was the only replica in sync, so that its "
    "loss would take them; the first and the last second of that time are not counted",
    "acked_below_log_start": "of the acknowledged, deleted from the log's start before they were "
    "read back: neither found nor lost",
    "expired_unread": "of these, committed past by the consumer group, and neither given to a "
    "member nor processed: nobody will process them",
    "superseded": "of the acknowledged, gone from a compacted log in which their key has a later "
    "record: neither found nor lost",
    "acked_without_offset": "acknowledged, but the cluster did not say where; looked for by value",
    "failed": "certainly not written, or aborted with their transaction",
    "aborted": "of the failed, those whose client aborted the transaction without an error, on "
    "purpose for example",
    "indeterminate": "nobody knows whether they were written",
    "indeterminate_landed": "of those in doubt, found in the log at the end",
    "indeterminate_not_landed": "of those in doubt, not in the log at the end",
    "failed_landed": "of the failed, found in the log at the end",
    "undelivered": "failed or in doubt, and not in the log at the end: what their sender wanted "
    "written is not",
    "unacknowledged_lost": "sent with acks=0 and gone: no ack, so no promise",
    "reads": "records that consumers following the log were given; each consumer counts on its own",
    "redeliveries": "offsets given to the same reader once more, after a truncation perhaps with "
    "another record",
    "lookups": "single records read back right after their ack, beside the reads that follow the "
    "log",
    "lookups_not_found": "of these, not found before their deadline",
    "final_read_records": "records in the log when all faults were healed",
    "processed": "records that members of the consumer group processed",
    "commits": "offsets that they committed",
    "torn_records": "entries of the history that a killed worker had begun to write",
    "worker_errors": "errors that clients reported beside sends, such as a broken connection: "
    "signs of a fault, not lost records",
}


def counters(counts: Mapping[str, int]) -> list[tuple[str, int, str]]:
    """Name, number and meaning of each count."""
    return [
        (NAMES.get(key, key.replace("_", " ")), value, MEANINGS.get(key, ""))
        for key, value in counts.items()
    ]
