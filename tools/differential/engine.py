"""The engine as a player of scenarios."""

from __future__ import annotations

from tools.differential.kafka import Scenario
from tools.differential.traces import Event


class Engine:
    """Plays on coordinator_core, with the member ids that Kafka made in the same scenario."""

    def __init__(self, era: str) -> None:
        self._era = era

    def play(self, scenario: Scenario, member_ids: list[str]) -> list[Event]:
        """The trace; a `failure` event in it is a bug of the engine's."""
        raise NotImplementedError
