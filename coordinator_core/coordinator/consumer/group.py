"""A consumer group and its members."""

from __future__ import annotations

from typing import ClassVar

from coordinator_core.coordinator.modern.group import ModernGroup


class ConsumerGroup(ModernGroup):
    __slots__ = ()

    group_type: ClassVar[str] = "consumer"
    protocol_type: ClassVar[str] = "consumer"
