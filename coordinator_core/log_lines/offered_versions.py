"""The versions of brokers that offer the API versions and features of a text.

Texts: debug lines of Java clients and librdkafka about ApiVersions; output of
kafka-broker-api-versions.sh, kafka-features.sh and `kafka-dump-log --cluster-metadata-decoder`; and
lines of a broker about features.  A broker offers each API and metadata.version up to the highest
that its release has.  A finalized level of a feature shows a lower bound: all brokers have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby

from coordinator_core.log_lines.version_ranges import (
    Ranges,
    common_to_all,
    consistent,
    ranges_of,
    united,
)
from schemas.log_lines import offered_versions

_METADATA_VERSION = "metadata.version"
_MARKS_OF_APIS = (b" [usable: ", b"ApiKey ")
_MARK_OF_FEATURES = b".version"
MARKS = (*_MARKS_OF_APIS, _MARK_OF_FEATURES)
"""Every line that lists such versions contains one of these texts."""
# A level is a number, or a name such as 3.9-IV0; every version has level 0.
_LEVEL = rb"([1-9]\d*(?:\.\d+-IV\d+)?)(?!\.?\d)"
# Java: `Fetch(1): 4 to 17 [usable: 17]`; librdkafka: `ApiKey Fetch (1) Versions 4..17`.
_API = re.compile(rb"\((\d{1,3})\)(?:: (?:\d+ to )?(\d+) \[u| Versions \d+\.\.(\d+))")
_SUPPORTED = re.compile(
    rb"""(?:
        (?:BrokerFeature|SupportedFeatureKey)\(name='metadata\.version',
            \ min(?:Supported)?Version=\d+,\ max(?:Supported)?Version=
        |REGISTER_BROKER_RECORD(?:(?!REGISTER_BROKER)[^\n])*?"name":"metadata\.version","minSupportedVersion":\d+,
            "maxSupportedVersion":
        |metadata\.version\s+SupportedMinVersion:\ \S+\s+SupportedMaxVersion:\ (?#)
    )"""
    + _LEVEL,
    re.VERBOSE,
)
_FINALIZED = re.compile(
    rb"""((?:metadata|group|share|streams)\.version)(?:
        =|\ |\ Optional\[|\ to\ |\ was\ upgraded\ to\ |',\ maxVersionLevel=|","featureLevel":
        |\s+SupportedMinVersion:\ \S+\s+SupportedMaxVersion:\ \S+\s+FinalizedVersionLevel:\ (?#)
    )"""
    + _LEVEL,
    re.VERBOSE,
)


def versions_offered(text: bytes) -> Ranges | None:
    """Returns None if the text shows no versions, or only versions of brokers other than Apache
    Kafka.
    """
    shown: list[Ranges] = []
    if any(mark in text for mark in _MARKS_OF_APIS):
        shown += map(_of_apis, _answers(text))
    if _MARK_OF_FEATURES in text:
        shown += [_of_level(_METADATA_VERSION, level) for level in _SUPPORTED.findall(text)]
        shown += [_since(name.decode(), level) for name, level in _FINALIZED.findall(text)]
    possible = [each for each in shown if each]
    return consistent(possible) if possible else None


def _answers(text: bytes) -> Iterator[dict[str, int]]:
    """Highest versions by API, per answer to ApiVersions; an answer has the APIs in order."""
    answer: dict[str, int] = {}
    last = -1
    for api, of_java, of_librdkafka in _API.findall(text):
        if int(api) <= last:
            yield answer
            answer = {}
        last = int(api)
        answer[str(last)] = int(of_java or of_librdkafka)
    if answer:
        yield answer


def _of_apis(highest: Mapping[str, int]) -> Ranges:
    return common_to_all(map(_of_highest, highest, highest.values()))


@cache
def _of_level(name: str, level: bytes) -> Ranges:
    """The versions whose highest level of the feature this is."""
    if b"." in level:
        return ranges_of(level.decode().partition("-")[0])
    return _of_highest(name, int(level))


@cache
def _since(name: str, level: bytes) -> Ranges:
    """The versions that have this level of the feature."""
    if b"." in level:
        return ranges_of(f"{level.decode().partition('-')[0]}-")
    releases = (each for each, of in offered_by_release().items() if of.get(name, 0) >= int(level))
    return ranges_of(f"{next(releases, _next_release())}-")


@cache
def _of_highest(name: str, highest: int) -> Ranges:
    """The versions that offer this version and no higher version; empty if there is no such
    version.
    """
    releases = offered_by_release()
    of_releases = {version: offered.get(name, -1) for version, offered in releases.items()}
    if highest > max(of_releases.values()):
        return ranges_of(f"{_next_release()}-")
    newest = [*of_releases][-1]
    by_equality = groupby(of_releases, lambda each: of_releases[each] == highest)
    runs = [[*run] for is_equal, run in by_equality if is_equal]
    # A release after the newest known release may offer the same API versions.
    return united(ranges_of(f"{run[0]}-{'' if run[-1] == newest else run[-1]}") for run in runs)


def _next_release() -> str:
    """The first version that the data lack: no newer release has been read."""
    major, minor = [*offered_by_release()][-1].split(".")
    return f"{major}.{int(minor) + 1}"


@cache
def offered_by_release() -> dict[str, dict[str, int]]:
    """All highest versions of APIs and features by release, oldest first."""
    releases: dict[str, dict[str, int]] = {}
    offered: dict[str, int] = {}
    for release, changed in offered_versions().items():
        offered = offered | changed
        releases[release] = offered
    return releases
