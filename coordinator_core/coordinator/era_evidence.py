"""What records and log lines show about the version of the brokers that wrote them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from coordinator_core.log_lines.version_ranges import ALL_VERSIONS, Ranges

_JAVA_WORDS = re.compile(
    r"explicit `LeaveGroup` request|heartbeat expiration\.$|instance id null"
    r"|is joining group during|assignmentduring"
)
_SCALA_3_WORDS = re.compile(r"; client reason: |^(Leader|Removing member) ")
_NEWEST_GROUP_VERSION = 3
_JAVA_OFFSET_VERSION = 4


class BrokerVersion(NamedTuple):
    """From ``from_ms`` on, the broker has this version, such as ``4.4.0``; None: unknown."""

    broker_id: int
    from_ms: int
    version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EraEvidence:
    """Evidence of one group, or of several groups on brokers of one version.

    ``group_versions`` are value versions of records of classic groups; ``offset_versions`` are the
    versions of offset commits.  ``reasons`` are logged reasons of rebalances.  ``has_generation_0``
    means that there is a record of a classic group in generation 0.  ``versions`` are the versions
    of the brokers, as logs show them. ``of_brokers`` are versions of brokers that were restarted,
    by broker and time.

    The other fields say whether the evidence has records of modern groups, the topics of a consumer
    group as a record, a target assignment with its time, an assignment with the epoch of each
    partition, a consumer or share group that became empty without a new target, a partition that a
    member was to revoke and kept, a member that revoked and had more to revoke in the same epoch,
    and a streams group with the epoch of its validated topology.
    """

    group_versions: Set[int] = frozenset()
    offset_versions: Set[int] = frozenset()
    reasons: Sequence[str] = ()
    has_generation_0: bool = False
    versions: Ranges = ALL_VERSIONS
    of_brokers: Sequence[BrokerVersion] = ()
    has_modern_records: bool = False
    has_topic_records: bool = False
    has_target_times: bool = False
    has_assignment_epochs: bool = False
    has_emptied_without_target: bool = False
    has_kept_pending_partition: bool = False
    has_revoked_twice_in_an_epoch: bool = False
    has_validated_topology: bool = False

    @property
    def group_version(self) -> int:
        """The newest version of group records; the newest known version without such a record."""
        return max(self.group_versions, default=_NEWEST_GROUP_VERSION)

    @property
    def has_offsets_of_java(self) -> bool | None:
        """Returns whether offset commits have the version of 4.1 and later; None without
        commits.
        """
        return _JAVA_OFFSET_VERSION in self.offset_versions if self.offset_versions else None

    @property
    def has_java_wording(self) -> bool:
        return any(map(_JAVA_WORDS.search, self.reasons))

    @property
    def has_scala_3_wording(self) -> bool:
        return any(map(_SCALA_3_WORDS.search, self.reasons))


NO_EVIDENCE = EraEvidence()


class Sign(NamedTuple):
    """A property of evidence that shows an era if no newer era's sign holds.

    ``why`` is the reason that a user reads.
    """

    why: str
    is_in: Callable[[EraEvidence], bool]


class InferredEra(NamedTuple):
    name: str
    why: str
