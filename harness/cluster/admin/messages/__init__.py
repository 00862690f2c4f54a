"""Requests of Kafka's that kafka-python has no schema for: who votes in KRaft's quorum (KIP-853).

The JSON files are what its classes are made of. Source: Kafka 3.9, clients/…/common/message.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage


class AddRaftVoterRequest(ApiMessage, load_json=__name__):
    """Let a controller vote that follows the quorum's log."""


class AddRaftVoterResponse(ApiMessage, load_json=__name__):
    """What came of it."""


class RemoveRaftVoterRequest(ApiMessage, load_json=__name__):
    """Let a controller vote no more."""


class RemoveRaftVoterResponse(ApiMessage, load_json=__name__):
    """What came of it."""
