"""A consumer's settings, and the differences between client libraries and their versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from coordinator_core.protocol.messages import TopicPartition, Topology

JITTER = 0.2  # share of the exponential backoff (KIP-580)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """Kafka's consumer settings under their own names; times in ms; None: the library's default.

    ``name``: prefix of all request ids, unique among all processes.  ``max_poll_interval_ms``: also
    the rebalance timeout.  ``assignors``: names, in order of preference.  ``timer_delay_us``: how
    late librdkafka's timers fire, in microseconds.  ``claims``: partitions that the first JoinGroup
    of a cooperative member claims, as if the member had owned them before.

    ``group_protocol``: classic, consumer, share or streams.  Only for members of the last three:
    ``member_id``: made by the client (``modern.member_ids``).  ``remote_assignor`` None: the
    broker's default.  ``regex``: subscribes to the topics that match it, as the broker finds them.
    ``process_id`` and ``topology``: of streams members.
    """

    group_id: str
    client_id: str
    name: str = ""
    client_host: str = "/127.0.0.1"
    instance_id: str | None = None
    rack: str | None = None
    assignors: tuple[str, ...] | None = None
    session_timeout_ms: int | None = None
    heartbeat_interval_ms: int = 3000
    max_poll_interval_ms: int = 300000
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1000
    request_timeout_ms: int = 30000
    metadata_max_age_ms: int = 300000
    close_timeout_ms: int = 30000
    leave_group_on_close: bool = True
    timer_delay_us: int = 0
    claims: tuple[TopicPartition, ...] = ()
    group_protocol: str = "classic"
    member_id: str = ""
    remote_assignor: str | None = None
    regex: str | None = None
    process_id: str = ""
    topology: Topology | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLibrary:
    """A client library in a range of versions.  Comments name the change behind a field."""

    name: str
    is_librdkafka: bool = False
    session_timeout_ms: int
    assignors: tuple[str, ...]
    subscription_version: int  # KIP-429, KIP-792, KIP-881
    assignment_version: int
    empty_user_data: bytes | None = None  # sent by assignors without user data
    commit_version: int = 8
    has_heartbeat_thread: bool = True  # KIP-62, together with max.poll.interval.ms
    supports_member_id_required: bool = True  # KIP-394
    has_static_members: bool = True  # KIP-345
    has_lost: bool = True  # KIP-429: onPartitionsLost
    names_protocol_in_sync: bool = True  # KIP-559
    sends_reasons: bool = True  # KIP-800
    skips_assignment: bool = True  # KIP-814
    backs_off_exponentially: bool = True  # KIP-580
    revokes_on_first_join: bool = False  # calls onPartitionsRevoked with no partitions
    leader_refreshes_metadata: bool = False  # after each assignment
    sticky_has_generation: bool = True  # KAFKA-7026
    has_consumer_protocol: bool = False  # KIP-848

    def backoff_ms(self, config: ConsumerConfig, attempts: int, jitter: float) -> int:
        """The wait before the next attempt; ``attempts``: failures before the last one."""
        if not self.backs_off_exponentially:
            return config.retry_backoff_ms
        backoff_ms = config.retry_backoff_ms << min(attempts, 20)
        return round(min(backoff_ms * (1 + JITTER * jitter), config.retry_backoff_max_ms))


_JAVA_4_1 = ClientLibrary(
    name="java-4.1",
    session_timeout_ms=45000,  # KIP-735
    assignors=("range", "cooperative-sticky"),  # KIP-726
    subscription_version=3,
    assignment_version=3,
    has_consumer_protocol=True,
)
_JAVA_4_4 = replace(_JAVA_4_1, name="java-4.4")
_JAVA_3_9 = replace(_JAVA_4_1, name="java-3.9", has_consumer_protocol=False)
_JAVA_2_5 = replace(
    _JAVA_3_9,
    name="java-2.5",
    session_timeout_ms=10000,
    assignors=("range",),
    subscription_version=1,
    assignment_version=1,
    sends_reasons=False,
    skips_assignment=False,
    backs_off_exponentially=False,
)
_JAVA_2_3 = replace(
    _JAVA_2_5,
    name="java-2.3",
    subscription_version=0,
    assignment_version=0,
    empty_user_data=b"",
    commit_version=7,
    has_lost=False,
    revokes_on_first_join=True,
    names_protocol_in_sync=False,
)
_JAVA_2_0 = replace(
    _JAVA_2_3,
    name="java-2.0",
    commit_version=4,
    supports_member_id_required=False,
    has_static_members=False,
    sticky_has_generation=False,
)
_JAVA_1_0 = replace(_JAVA_2_0, name="java-1.0", commit_version=3)
_JAVA_0_10 = replace(_JAVA_1_0, name="java-0.10", commit_version=2)
_JAVA_0_9 = replace(
    _JAVA_0_10, name="java-0.9", session_timeout_ms=30000, has_heartbeat_thread=False
)
_LIBRDKAFKA_2 = ClientLibrary(
    name="librdkafka-2",
    is_librdkafka=True,
    session_timeout_ms=45000,
    assignors=("range", "roundrobin"),
    subscription_version=3,
    assignment_version=0,
    empty_user_data=b"",
    commit_version=7,
    names_protocol_in_sync=False,
    sends_reasons=False,
    skips_assignment=False,
    has_consumer_protocol=True,
)
_KAFKA_PYTHON_3 = replace(
    _JAVA_3_9,
    name="kafka-python-3",
    assignors=("range", "roundrobin"),
    subscription_version=0,
    assignment_version=0,
    empty_user_data=b"",
    revokes_on_first_join=True,
    leader_refreshes_metadata=True,
)

LIBRARIES: Mapping[str, ClientLibrary] = {
    library.name: library
    for library in (
        _JAVA_0_9,
        _JAVA_0_10,
        _JAVA_1_0,
        _JAVA_2_0,
        _JAVA_2_3,
        _JAVA_2_5,
        _JAVA_3_9,
        _JAVA_4_1,
        _JAVA_4_4,
        _LIBRDKAFKA_2,
        _KAFKA_PYTHON_3,
    )
}
