"""The requests of consumer groups, and how they handle those that classic groups have, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.messages import Request

HANDLERS: Mapping[type[Request], Callable[[Turn, Any], None]] = {}
SHARED_HANDLERS: Mapping[type[Request], Callable[[Turn, Any, Any], None]] = {}
