"""Requests of Kafka's that kafka-python has no schema for: who votes in KRaft's quorum (KIP-853).

Its classes are made of JSON files, ours of those in harness/cluster/admin/messages. Source: Kafka
3.9, clients/src/main/resources/common/message.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

_FOLDER = "harness.cluster.admin.messages"


class AddRaftVoterRequest(ApiMessage, load_json=_FOLDER):  # type: ignore[misc,call-arg]
    """Let a controller vote that follows the quorum's log."""


class AddRaftVoterResponse(ApiMessage, load_json=_FOLDER):  # type: ignore[misc,call-arg]
    """What came of it."""


class RemoveRaftVoterRequest(ApiMessage, load_json=_FOLDER):  # type: ignore[misc,call-arg]
    """Let a controller vote no more."""


class RemoveRaftVoterResponse(ApiMessage, load_json=_FOLDER):  # type: ignore[misc,call-arg]
    """What came of it."""
