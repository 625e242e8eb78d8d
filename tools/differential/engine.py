"""The engine as a player of scenarios."""

from __future__ import annotations

import traceback

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.scenarios.group_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import given_ids, play
from tools.differential.kafka import Scenario
from tools.differential.traces import JsonLine


class Engine:
    """Plays on coordinator_core, with the member ids that Kafka made in the same scenario."""

    def __init__(self, era: str, all_types: bool = False) -> None:
        self._era = ERAS[era]
        self._all_types = all_types

    def play(self, scenario: Scenario, member_ids: list[str]) -> list[JsonLine]:
        """The trace; only a `failure` event if the engine raises, which is a bug of the engine."""
        try:
            if self._all_types:
                return AllTypesPlayer(scenario, self._era, given_ids(member_ids)).play("engine")
            return play(scenario, self._era, given_ids(member_ids), "engine")
        except Exception:
            return [{"event": "failure", "error": traceback.format_exc(limit=-4)}]
