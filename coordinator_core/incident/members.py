"""The members of an incarnation by its records: settings, protocols, metadata, new ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from coordinator_core.incident.evidence import Incarnation, LogEvent, MetadataRecord, RecordedMember
from coordinator_core.protocol.messages import Protocols
from coordinator_core.protocol.processes import client_of

# A broker may log a join up to this long after it started to append the record.
_LOGGED_LATE_MS = 100
# Defaults for a group without records: brokers accept neither an empty type nor an empty name.
_ASSUMED_TYPE, _ASSUMED_PROTOCOL = "consumer", "(in no record)"
_DEFAULT_SESSION_MS, _DEFAULT_REBALANCE_MS = 45_000, 300_000


class MemberDirectory:
    """Members of one incarnation.  A member without a record gets the most common settings."""

    def __init__(self, incarnation: Incarnation) -> None:
        self._records = incarnation.records
        self._seen: dict[str, list[tuple[MetadataRecord, RecordedMember]]] = {}
        for record in incarnation.records:
            for member in record.members:
                self._seen.setdefault(member.member_id, []).append((record, member))
        self._preferred = _preferences(incarnation.records)
        self.protocol_type = next(
            (r.protocol_type for r in incarnation.records if r.protocol_type),
            _ASSUMED_TYPE,
        )
        self._longest_session_ms = _longest_session_ms(incarnation.events)
        self._usual = self._most_usual()

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._seen

    def at(self, member_id: str, generation: int) -> RecordedMember:
        """The member in its first record from this generation on, else in its last record."""
        seen = self._seen.get(member_id)
        if seen is None:
            name = client_of(member_id)
            return self._usual._replace(member_id=member_id, client_id=name)
        return next((m for record, m in seen if record.generation >= generation), seen[-1][1])

    def protocols(self, member_id: str, generation: int) -> Protocols:
        """Protocols the member supports, preferred first, with its metadata from the first record
        of this generation or later.
        """
        seen = self._seen.get(member_id)
        if seen is None:
            record = self._near(generation)
            return ((_ASSUMED_PROTOCOL if record is None else record.protocol or "", b""),)
        return tuple(
            (name, _metadata(seen, name, generation)) for name in self._preferred[member_id]
        )

    def replacement(self, instance_id: str, old_member_id: str, at_ms: int) -> str | None:
        """The next member id of a static member after this time, by the records."""
        for record in self._records:
            if record.at_ms + _LOGGED_LATE_MS < at_ms:
                continue
            for member in record.members:
                if member.instance_id == instance_id and member.member_id != old_member_id:
                    return member.member_id
        return None

    def was_seen_before(self, member_id: str, record: MetadataRecord) -> bool:
        """Returns whether an earlier record has the member id."""
        first = self._seen[member_id][0][0] if member_id in self._seen else record
        return first.log_offset < record.log_offset

    def _near(self, generation: int) -> MetadataRecord | None:
        with_protocol = [record for record in self._records if record.protocol]
        after = (record for record in with_protocol if record.generation >= generation)
        return next(after, with_protocol[-1] if with_protocol else None)

    def _most_usual(self) -> RecordedMember:
        kinds = Counter(
            (member.client_host, member.rebalance_timeout_ms, member.session_timeout_ms)
            for seen in self._seen.values()
            for _, member in seen[-1:]
        )
        default = ("", _DEFAULT_REBALANCE_MS, self._longest_session_ms)
        host, rebalance_ms, session_ms = kinds.most_common(1)[0][0] if kinds else default
        return RecordedMember(
            member_id="",
            instance_id=None,
            client_id="",
            client_host=host,
            rebalance_timeout_ms=rebalance_ms,
            session_timeout_ms=session_ms,
            subscription=b"",
            assignment=b"",
        )


def _longest_session_ms(events: tuple[LogEvent, ...]) -> int:
    """The default session timeout, or less if a session expired sooner after a sync or join."""
    longest_ms, contact_ms = _DEFAULT_SESSION_MS, None
    for event in events:
        if event.event == "HEARTBEAT_EXPIRED" and contact_ms is not None:
            longest_ms = min(longest_ms, event.at_ms - contact_ms)
        elif event.event in ("ASSIGNMENT_RECEIVED", "JOIN_COMPLETE"):
            contact_ms = event.at_ms
    return max(longest_ms, 1)


def _metadata(
    seen: list[tuple[MetadataRecord, RecordedMember]], protocol: str, generation: int
) -> bytes:
    under = [(record, member) for record, member in seen if record.protocol == protocol]
    after = (member for record, member in under if record.generation >= generation)
    last = under[-1][1].subscription if under else b""  # the protocol was never chosen
    return next((member.subscription for member in after), last)


def _preferences(records: tuple[MetadataRecord, ...]) -> dict[str, list[str]]:
    """The protocols of each member, preferred first.

    A protocol wins a vote if all members of the generation also support another protocol.
    Protocols are ordered by votes won, then by the number of generations that chose them; a
    protocol that only one generation chose comes last.
    """
    generations = _generations(records)
    seen = _supported(records, generations)
    wins: Counter[tuple[str, str]] = Counter()
    for protocol, members in _choices(records):
        if len(set.intersection(*(set(seen[each]) for each in members))) > 1:
            wins.update((each, protocol) for each in members)

    def rank(member_id: str, name: str) -> tuple[bool, int, int]:
        chosen = len(generations[name])
        return chosen == 1, -wins[member_id, name], -chosen

    return {
        member_id: sorted(names, key=lambda name: rank(member_id, name))
        for member_id, names in seen.items()
    }


def _generations(records: tuple[MetadataRecord, ...]) -> dict[str, set[int]]:
    generations: dict[str, set[int]] = {}
    for record in records:
        if record.protocol is not None:
            generations.setdefault(record.protocol, set()).add(record.generation)
    return generations


def _supported(
    records: tuple[MetadataRecord, ...], generations: dict[str, set[int]]
) -> dict[str, dict[str, None]]:
    """The protocols that each member supports.

    Members are assumed to share one configuration: if a single generation chose a protocol, and
    one of its members also supports the most common protocol, then all its members support it.
    """
    seen: dict[str, dict[str, None]] = {}
    for protocol, members in _choices(records):
        for member_id in members:
            seen.setdefault(member_id, {})[protocol] = None
    usual = max(generations, key=lambda name: len(generations[name]), default=None)
    for protocol, members in _choices(records):
        is_alone = len(generations[protocol]) == 1 and protocol != usual
        if usual is not None and is_alone and any(usual in seen[each] for each in members):
            for member_id in members:
                seen[member_id][usual] = None
    return seen


def _choices(records: tuple[MetadataRecord, ...]) -> Iterator[tuple[str, list[str]]]:
    for record in records:
        if record.protocol is not None and record.members:
            yield record.protocol, [member.member_id for member in record.members]
