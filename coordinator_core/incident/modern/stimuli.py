"""The stimuli of a modern group: what reached its coordinator."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.incident.stimuli import Basis
from coordinator_core.protocol.messages import Request

PRESENT = -99
"""Stands for the member's epoch in a request: the epoch that the engine gave to the member."""


class ModernStimulusKind(Enum):
    JOIN = "a member joins"
    HEARTBEAT = "a member sends a heartbeat"
    ACKNOWLEDGE = "a heartbeat reports that the member has given up partitions"
    LEAVE = "a member leaves"
    AWAY = "a static member leaves temporarily"
    REFUSED = "a static member joins while its instance id is in use"
    SESSION_EXPIRED = "no heartbeat in time: the engine's timer ends the session"
    TIMEOUT = "another timer of the engine expires"
    CLASSIC_JOIN = "a member of the classic protocol joins or rejoins"
    CLASSIC_LEAVE = "a member of the classic protocol leaves"
    TOPICS = "the topics of the cluster change"
    BACKGROUND = "the coordinator resolves regular expressions, or has share partitions initialized"
    DELETE = "the group is deleted"
    CONFIG = "the group's own configuration changes"


class ModernStimulus(NamedTuple):
    """``request`` is without the member's epoch (PRESENT); ``topics`` and ``deleted`` are fields of
    TOPICS; ``configs``: of CONFIG; ``asks`` means that the request is only sent to make the
    coordinator begin the background work that follows.
    """

    at_ms: int
    kind: ModernStimulusKind
    member_id: str
    basis: Basis
    evidence: str
    request: Request | None = None
    topics: tuple[TopicImage, ...] = ()
    deleted: tuple[str, ...] = ()
    uncertainty_ms: int = 0
    asks: bool = False
    configs: tuple[tuple[str, str], ...] = ()
