"""Whether advice was carried out, by the settings of a group's members in each generation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from coordinator_core.lives.processes import RESTART_MS
from coordinator_core.whatif.kafka_names import INSTANCE_ID, NAME_OF
from coordinator_core.whatif.settings import SettingsChange

# Settings of members or of the group that every generation shows.
_OF_GENERATIONS = (
    "membership",
    "session_timeout_ms",
    "rebalance_timeout_ms",
    "assignor",
    "group_protocol",
    "remote_assignor",
)
# Settings that only a configuration file or the Admin API shows.
_OF_CONFIGURATIONS = (
    "initial_rebalance_delay_ms",
    "consumer_session_timeout_ms",
    "consumer_heartbeat_interval_ms",
    "consumer_assignment_interval_ms",
    "migration_policy",
)
_SHOWN = _OF_GENERATIONS + _OF_CONFIGURATIONS
# Settings of a change that no process configures.
_NOT_CONFIGURED = ("instance_ids", "protocol")


class CarriedOutStatus(StrEnum):
    NO = "no"
    PARTLY = "partly"
    YES = "yes"
    OTHER_VALUES = "other values"
    UNKNOWN = "unknown"


class MemberSettings(NamedTuple):
    """``members`` says how many members of a generation have these settings.  Times in ms; None:
    the requests of the group's protocol do not have it.
    """

    is_static: bool
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    members: int


class GenerationSettings(NamedTuple):
    """``at_ms`` says when all members had joined, or a static member was replaced; ``protocol``:
    the assignor; ``partitions`` is the number that have an owner, None: unknown.
    """

    at_ms: int
    group_type: str
    protocol: str | None
    partitions: int | None
    members: Sequence[MemberSettings]

    @property
    def size(self) -> int:
        return sum(each.members for each in self.members)

    def values(self, name: str) -> dict[str, int]:
        """By value of a setting of _OF_GENERATIONS: how many members have it."""
        counts: dict[str, int] = {}
        for each in self.members:
            value = self._value(name, each)
            counts[value] = counts.get(value, 0) + each.members
        return counts

    def _value(self, name: str, member: MemberSettings) -> str:
        if name == "membership":
            return "static" if member.is_static else "dynamic"
        if name in ("session_timeout_ms", "rebalance_timeout_ms"):
            return str(getattr(member, name))
        return str(self.group_type if name == "group_protocol" else self.protocol)


class ConfiguredSetting(NamedTuple):
    """``seen_ms`` says when the file was read (for a log: the date of its last line), or when the
    Admin API described the setting.
    """

    value: str
    seen_ms: int


class CarriedOut(NamedTuple):
    """``from_ms`` says since when a member has a setting of the advice; ``to_ms`` says since when
    all members have all settings; ``until_ms`` says when they no longer had; None: not so far.
    ``text`` says what shows the status.
    """

    status: CarriedOutStatus
    text: str
    from_ms: int | None = None
    to_ms: int | None = None
    until_ms: int | None = None


def carried_out(
    change: SettingsChange,
    advised_ms: int,
    generations: Sequence[GenerationSettings],
    configured: Mapping[str, ConfiguredSetting],
) -> CarriedOut:
    """``advised_ms`` is the time of the last evidence when the advice was given; ``generations``
    are in order of time; ``configured`` has settings by Kafka's name.
    """
    advised = _advised(change)
    hidden = [name for name in advised if name not in _SHOWN]
    hidden += [name for name in _in(advised, _OF_CONFIGURATIONS) if _of(configured, name) is None]
    if hidden:
        return CarriedOut(
            CarriedOutStatus.UNKNOWN, f"no evidence shows {', '.join(map(_kafka, hidden))}"
        )
    by_members = _by_members(
        {name: advised[name] for name in _in(advised, _OF_GENERATIONS)}, advised_ms, generations
    )
    by_configuration = _by_configuration(
        {name: advised[name] for name in _in(advised, _OF_CONFIGURATIONS)}, advised_ms, configured
    )
    return _both([each for each in (by_members, by_configuration) if each is not None])


def settings_shown(change: SettingsChange) -> set[str]:
    """The settings of the change that generations show."""
    return set(_in(_advised(change), _OF_GENERATIONS))


def differences(
    before: GenerationSettings, after: GenerationSettings, without: set[str]
) -> Iterator[tuple[str, str]]:
    """Settings that differ between two generations: name and text; ``without``: not these."""
    for name in _OF_GENERATIONS:
        was, is_ = before.values(name), after.values(name)
        if name not in without and set(was) != set(is_):
            yield name, f"{_kafka(name)} {'/'.join(sorted(was))} -> {'/'.join(sorted(is_))}"


def _advised(change: SettingsChange) -> dict[str, str]:
    values = {name: str(value) for name, value in change.values().items()}
    if change.assignors is not None:
        values["assignor"] = change.assignors[0]
    return {name: value for name, value in values.items() if name not in _NOT_CONFIGURED}


def _in(advised: Mapping[str, str], names: Sequence[str]) -> list[str]:
    return [name for name in advised if name in names]


def _kafka(name: str) -> str:
    return NAME_OF[name] if name in _SHOWN else name


# -- members ---------------------------------------------------------------------------------------


def _by_members(
    advised: Mapping[str, str], advised_ms: int, generations: Sequence[GenerationSettings]
) -> CarriedOut | None:
    """None: the advice has no setting that generations show."""
    if not advised:
        return None
    before = [each for each in generations if each.at_ms <= advised_ms]
    later = [each for each in generations if each.at_ms > advised_ms and each.size]
    if not before or not later:
        return CarriedOut(CarriedOutStatus.NO, "no generation since the advice")
    had = {name: before[-1].values(name).get(value, 0) for name, value in advised.items()}
    last = later[-1]
    begun = [each for each in later if any(_count(each, n, v) > had[n] for n, v in advised.items())]
    complete = next(_complete(later, advised), None)
    if complete is not None:
        period, until_ms = complete
        size = max(each.size for each in period)
        text = f"all {size} members have {_named(advised)}"
        from_ms = min(each.at_ms for each in (*begun, period[0]))
        return CarriedOut(CarriedOutStatus.YES, text, from_ms, period[0].at_ms, until_ms)
    other = list(_other_values(advised, before[-1], last))
    if other:
        return CarriedOut(CarriedOutStatus.OTHER_VALUES, "; ".join(other))
    counts = "; ".join(
        f"{_count(last, name, value)} of {last.size} members have {_shown(name, value)}"
        for name, value in advised.items()
    )
    if begun:
        return CarriedOut(CarriedOutStatus.PARTLY, counts, begun[0].at_ms)
    return CarriedOut(CarriedOutStatus.NO, counts)


def _count(generation: GenerationSettings, name: str, value: str) -> int:
    return generation.values(name).get(value, 0)


def _has_all(generation: GenerationSettings, advised: Mapping[str, str]) -> bool:
    return all(_count(generation, *each) == generation.size for each in advised.items())


def _complete(
    generations: Sequence[GenerationSettings], advised: Mapping[str, str]
) -> Iterator[tuple[list[GenerationSettings], int | None]]:
    """The periods in which all members have the settings, and their ends.  While the last process
    without them restarts, the others are all members for a short time.
    """
    for has_all, same in groupby(generations, key=lambda each: _has_all(each, advised)):
        period = list(same)
        until_ms = next((each.at_ms for each in generations if each.at_ms > period[-1].at_ms), None)
        if has_all and (until_ms is None or until_ms - period[0].at_ms > RESTART_MS):
            yield period, until_ms


def _other_values(
    advised: Mapping[str, str], before: GenerationSettings, last: GenerationSettings
) -> Iterator[str]:
    """Settings that all members changed, but to a value that was not advised."""
    for name, value in advised.items():
        values = set(last.values(name))
        if len(values) == 1 and not values & {value, *before.values(name)}:
            yield f"{_kafka(name)}={values.pop()} instead of {value}"


def _named(advised: Mapping[str, str]) -> str:
    return ", ".join(_shown(name, value) for name, value in advised.items())


def _shown(name: str, value: str) -> str:
    if name == "membership":
        return f"a {INSTANCE_ID}" if value == "static" else f"no {INSTANCE_ID}"
    return f"{_kafka(name)}={value}"


# -- configurations --------------------------------------------------------------------------------


def _by_configuration(
    advised: Mapping[str, str], advised_ms: int, configured: Mapping[str, ConfiguredSetting]
) -> CarriedOut | None:
    """A configuration was changed at an unknown time between the advice and its description."""
    present = {name: each for name in advised if (each := _of(configured, name)) is not None}
    if not present:
        return None
    same = [n for n, each in present.items() if each.value.lower() == advised[n].lower()]
    text = ", ".join(f"{_kafka(name)}={each.value}" for name, each in present.items())
    seen_ms = max(each.seen_ms for each in present.values())
    if len(same) == len(present):
        return CarriedOut(CarriedOutStatus.YES, text, advised_ms, max(advised_ms, seen_ms))
    if same:
        return CarriedOut(CarriedOutStatus.PARTLY, text, advised_ms)
    return CarriedOut(CarriedOutStatus.NO, text)


def _of(configured: Mapping[str, ConfiguredSetting], name: str) -> ConfiguredSetting | None:
    """A consumer group's own setting, else that of the brokers."""
    kafka = NAME_OF[name]
    return configured.get(kafka) or configured.get(f"group.{kafka}")


def _both(parts: Sequence[CarriedOut]) -> CarriedOut:
    """Advice is carried out when its settings of members and of configurations are in force."""
    text = "; ".join(each.text for each in parts)
    status = (
        parts[0].status if len({each.status for each in parts}) == 1 else CarriedOutStatus.PARTLY
    )
    begun = [each.from_ms for each in parts if each.from_ms is not None]
    if status is not CarriedOutStatus.YES:
        return CarriedOut(status, text, min(begun, default=None))
    ends = [each.until_ms for each in parts if each.until_ms is not None]
    complete = [each.to_ms for each in parts if each.to_ms is not None]
    return CarriedOut(status, text, min(begun), max(complete), min(ends, default=None))
