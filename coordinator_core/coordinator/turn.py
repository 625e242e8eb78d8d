"""The object with which handlers, reactions and timers work.

A turn is the handling of one request, timer or finished append.  One ``Turn`` object serves a
coordinator for all its turns; ``begin`` opens the next one.  Its parts do the work:

groups   ``GroupRegistry``: the groups of all types
log      ``Log``: the shards, appends in flight, and answers that wait for them
effects  ``Effects``: the answers, appends and events of this turn
"""

from __future__ import annotations

from collections.abc import Callable

from coordinator_core.coordinator.effects import Effects
from coordinator_core.coordinator.era import CoordinatorConfig, EraOf
from coordinator_core.coordinator.group_handlers import HandlersByType
from coordinator_core.coordinator.group_registry import GroupRegistry
from coordinator_core.coordinator.log import Log
from coordinator_core.coordinator.metadata_image import NO_TOPICS, MetadataImage
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.modern.timers import ModernTimers
from coordinator_core.coordinator.timing_wheel import TimingWheel
from coordinator_core.protocol.errors import CoordinatorBug
from coordinator_core.protocol.messages import Effect

MemberIds = Callable[[str, str], str]  # (group id, client or instance id) -> a new member id


class Turn:
    """The state that handlers work with, and the effects of the present turn.

    ``timers`` has the timers of classic groups; ``modern_timers`` has the timers of modern groups.
    ``handlers`` are handlers of modern groups.  ``background`` is work that Kafka gives to other
    threads. ``resolving`` has groups whose regular expressions are being resolved.
    ``version_with_new_topics`` is the newest version of the metadata image with new topics.
    """

    __slots__ = (
        "background",
        "config",
        "effects",
        "era",
        "group_configs",
        "groups",
        "handlers",
        "image",
        "log",
        "member_ids",
        "modern_timers",
        "now_ms",
        "offsets_retention_ms",
        "resolving",
        "timers",
        "version_with_new_topics",
        "wheel",
    )

    def __init__(
        self,
        config: CoordinatorConfig,
        era: EraOf[Turn],
        member_ids: MemberIds,
        handlers: HandlersByType[Turn],
    ) -> None:
        self.config = config
        self.era = era
        self.member_ids = member_ids
        self.handlers = handlers
        modern: dict[str, ModernGroup] = {}
        self.effects = Effects(modern)
        self.log = Log(
            self.effects,
            config.offsets_topic_partitions,
            era.group_order,
            is_sharded=era.answers_after_append,
        )
        self.groups = GroupRegistry(era, self.log, self.effects, modern)
        self.now_ms = 0
        self.wheel = TimingWheel()
        self.timers = era.timers(self)
        self.modern_timers = ModernTimers(self.wheel)
        retention_ms = config.offsets_retention_ms
        self.offsets_retention_ms = (
            era.offsets_retention_ms if retention_ms is None else retention_ms
        )
        self.image: MetadataImage = NO_TOPICS
        self.group_configs: dict[str, dict[str, str]] = {}  # by group id: Kafka's names
        self.background: list[Callable[[], None]] = []
        self.resolving: set[str] = set()
        self.version_with_new_topics = -1

    def begin(self, now_ms: int) -> list[Effect]:
        """Open the next turn; returns the list that its effects go to."""
        if now_ms < self.now_ms:
            raise CoordinatorBug(f"time runs backwards: {self.now_ms} -> {now_ms}")
        self.now_ms = self.wheel.now_ms = now_ms
        self.log.own_append = None
        effects: list[Effect] = []
        self.effects.of_turn = effects
        return effects
