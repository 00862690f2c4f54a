"""Names what an imported history may not tell: run.json's `untold` (docs/lines.md).

    begins        when sends began: windows, latencies and order are not known
    sends         any send: whether what was read had been written
    copies        whether copies of some records were written before the history began
    landed        the same of the only records of some sends that ended without an ack
    values        the values of some records that were read, of which it has the offsets only
    read-times    when records were read: how long deliveries took
    faults        what happened to the cluster, and who led
    a setting     its value: it neither excuses nor convicts, and no sentence names it

analysis.causes.run_facts.untold says which findings rest on each.
"""

from __future__ import annotations

from typing import Final

BEGINS: Final = "begins"
SENDS: Final = "sends"
COPIES: Final = "copies"
LANDED: Final = "landed"
VALUES: Final = "values"
READ_TIMES: Final = "read-times"
FAULTS: Final = "faults"
EPOCHS: Final = "epochs"
CHECKSUMS: Final = "checksums"
RESETS: Final = "resets"
TRANSACTIONS: Final = "transactions"
LOOKUPS: Final = "lookups"
# Of these nothing can be told in lines.
NEVER_TOLD: Final = (EPOCHS, CHECKSUMS, RESETS, TRANSACTIONS, LOOKUPS)
# The settings on which promises depend, or that reports tell, and whose they are.
SETTINGS: Final = {
    "acks": "producer",
    "retries": "producer",
    "enable.idempotence": "producer",
    "max.in.flight.requests.per.connection": "producer",
    "transactional.id": "producer",
    "isolation.level": "consumer",
    "check.crcs": "consumer",
    "replication_factor": "topic",
    "min.insync.replicas": "topic",
    "cleanup.policy": "topic",
    "unclean.leader.election.enable": "topic",
    "inter.broker.protocol.version": "server",
}
# What a topic leaves to the brokers, by their name for it.
OF_BROKERS: Final = {"cleanup.policy": "log.cleanup.policy"}
