"""The consumer's half of a group: what a client library does, told by its requests and calls."""

from coordinator_core.client.config import LIBRARIES, ClientLibrary, ConsumerConfig
from coordinator_core.client.consumer import Consumer, no_jitter
from coordinator_core.client.messages import (
    ClientEffect,
    ClientRequest,
    ClientResponse,
    Closed,
    Disconnect,
    FindCoordinator,
    FindCoordinatorResponse,
    ListenerCall,
    Measured,
    MemberState,
    MemberStateChanged,
    Metadata,
    MetadataResponse,
    Raised,
    Send,
)
from coordinator_core.client.metrics import Metrics

__all__ = [
    "LIBRARIES",
    "ClientEffect",
    "ClientLibrary",
    "ClientRequest",
    "ClientResponse",
    "Closed",
    "Consumer",
    "ConsumerConfig",
    "Disconnect",
    "FindCoordinator",
    "FindCoordinatorResponse",
    "ListenerCall",
    "Measured",
    "MemberState",
    "MemberStateChanged",
    "Metadata",
    "MetadataResponse",
    "Metrics",
    "Raised",
    "Send",
    "no_jitter",
]
