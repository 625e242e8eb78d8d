"""States of a member of a consumer group, and what its heartbeat says about them."""

from __future__ import annotations

from enum import Enum


class ConsumerMemberState(Enum):
    """The value is the record's code.  Kafka's UNKNOWN is not modelled: no version writes it."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is a Python call


class Report(Enum):
    """What a heartbeat reports to the reconciliation of its member."""

    UNCHANGED = "the member is at the newest target, or still owns partitions that it must revoke"
    SUBSCRIPTION_CHANGED = (
        "the member is at the newest target, or still owns partitions that it must revoke; its "
        "subscription changed"
    )
    READY = "there is a newer target, or the member has revoked all partitions that it must revoke"

    __hash__ = object.__hash__
