"""Sightings in JSON values: objects of any monitor, Burrow's and Prometheus' responses.

A value is searched as a whole, because exports wrap what a monitor sent: a list of responses, the
hits of a log store.  An object without a time has the time of the object around it.

Sources: linkedin/Burrow core/protocol and core/internal/httpserver; Prometheus' HTTP API; the
metrics of danielqsj/kafka_exporter, redpanda-data/kminion and seglo/kafka-lag-exporter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, ParamSpec
from urllib.parse import unquote

from jobs.sources.end_offsets.sightings import (
    NO_TIME,
    NoSighting,
    Reading,
    Sighting,
    Times,
    offset_of,
    partition_of,
    topic_of,
)
from jobs.sources.logs.clock import beyond_dates

JSON, BURROW, PROMETHEUS = "json", "burrow", "prometheus"
# Names of a field in lower case, without points, dashes and underscores.
_TIMES = ("time", "timestamp", "ts", "datetime", "date", "@timestamp")
_TOPICS = ("topic", "topicname")
_PARTITIONS = ("partition", "partitionid")
_OFFSETS = (
    *("logendoffset", "endoffset", "latestoffset", "latest", "highwatermark", "highwater"),
    *("highwatermarkoffset", "logend"),
)
_MARKS = str.maketrans("", "", "_-. ")
_SERIES = re.compile(
    # kminion's metric, whose prefix is configurable
    r"(?:\w+_)?kafka_topic_partition_high_water_mark"
    r"|kafka_topic_partition_current_offset"  # kafka_exporter
    r"|kafka_partition_latest_offset"  # kafka-lag-exporter
)
_CLUSTERS = ("cluster_name", "cluster")
_BURROW_TOPIC = re.compile(r"/v\d/kafka/([^/]+)/topic/([^/?]+)")

_Arguments = ParamSpec("_Arguments")


class Context(NamedTuple):
    """What the objects around a value show: a time in ms since 1970, the name of a cluster."""

    times: Times
    at_ms: int | None = None
    cluster: str | None = None

    def time_ms(self, value: Any) -> int:
        time_ms = self.at_ms if value is None else self.times.of_value(value)
        if time_ms is None:
            raise NoSighting(NO_TIME)
        if (beyond := beyond_dates(time_ms)) is not None:
            raise NoSighting(beyond)
        return time_ms


def sightings_in(value: Any, context: Context) -> Iterator[tuple[str, Reading]]:
    """Format and sighting of all values in a JSON value that have a log end offset."""
    seen: set[Sighting] = set()  # Burrow repeats the partition with the highest lag.
    for format_, reading in _in_value(value, context):
        if format_ == BURROW and isinstance(reading, Sighting):
            if reading in seen:
                continue
            seen.add(reading)
        yield format_, reading


def _in_value(value: Any, context: Context) -> Iterator[tuple[str, Reading]]:
    if isinstance(value, list):
        for each in value:
            yield from _in_value(each, context)
    if not isinstance(value, dict):
        return
    shape = next((shape for shape in _SHAPES if shape.is_of(value)), None)
    if shape is not None:
        for reading in shape.read(value, context):
            yield shape.format, reading
        return
    inner = _inside(value, context)
    for each in value.values():
        yield from _in_value(each, inner)


def _inside(value: dict[str, Any], context: Context) -> Context:
    """The context of the values in an object."""
    time, cluster = value.get(_names(tuple(value)).time or ""), value.get("cluster")
    if isinstance(cluster, str):
        context = context._replace(cluster=cluster)
    if time is not None:
        try:
            return context._replace(at_ms=context.times.of_value(time))
        except NoSighting:
            return context
    return context


def reading_by(
    read: Callable[_Arguments, Sighting], *values: _Arguments.args, **more: _Arguments.kwargs
) -> Sighting | NoSighting:
    """The result of ``read``, or the reason why it failed."""
    try:
        return read(*values, **more)
    except NoSighting as error:
        return error


# Objects of any monitor -----------------------------------------------------------------------


class _Names(NamedTuple):
    """The names that an object has for the fields, or None for a field that it lacks."""

    time: str | None
    topic: str | None
    partition: str | None
    offset: str | None


@lru_cache(maxsize=1000)
def _names(names: tuple[str, ...]) -> _Names:
    plain = {name.lower().translate(_MARKS): name for name in reversed(names)}
    fields = (_TIMES, _TOPICS, _PARTITIONS, _OFFSETS)
    return _Names(*(next((plain[n] for n in field if n in plain), None) for field in fields))


def _is_plain(value: dict[str, Any]) -> bool:
    return None not in _names(tuple(value))[1:]


def _of_plain(value: dict[str, Any], context: Context) -> Iterator[Reading]:
    yield reading_by(_plain, value, context)


def _plain(value: dict[str, Any], context: Context) -> Sighting:
    names, cluster = _names(tuple(value)), value.get("cluster")
    return Sighting(
        topic_of(value[names.topic or ""]),
        partition_of(value[names.partition or ""]),
        offset_of(value[names.offset or ""]),
        context.time_ms(value.get(names.time or "")),
        cluster if isinstance(cluster, str) else context.cluster,
    )


# Burrow ---------------------------------------------------------------------------------------


def _topic_in_url(value: dict[str, Any]) -> re.Match[str] | None:
    request = value.get("request")
    url = request.get("url", request.get("uri")) if isinstance(request, dict) else None
    return _BURROW_TOPIC.match(str(url))


def _is_burrow_topic(value: dict[str, Any]) -> bool:
    """Returns whether this is /v3/kafka/CLUSTER/topic/TOPIC: an offset per partition, without a
    time.
    """
    return isinstance(value.get("offsets"), list) and _topic_in_url(value) is not None


def _of_burrow_topic(value: dict[str, Any], context: Context) -> Iterator[Reading]:
    for number, offset in enumerate(value["offsets"]):
        yield reading_by(_burrow_topic, _topic_in_url(value), number, offset, context)


def _burrow_topic(
    url: re.Match[str] | None, partition: int, offset: Any, context: Context
) -> Sighting:
    cluster, topic = map(unquote, url.groups() if url else ())
    return Sighting(topic_of(topic), partition, offset_of(offset), context.time_ms(None), cluster)


def _is_burrow_partition(value: dict[str, Any]) -> bool:
    """Returns whether this is part of a group's status or lag, or of a notification: the oldest and
    the newest commit.
    """
    has_commits = any(isinstance(value.get(name), dict) for name in ("start", "end"))
    return has_commits and "topic" in value and "partition" in value


def _of_burrow_partition(value: dict[str, Any], context: Context) -> Iterator[Reading]:
    for name in ("start", "end"):
        yield _of_commit(value.get(name), value["topic"], value["partition"], context)


def _is_burrow_consumer(value: dict[str, Any]) -> bool:
    """Returns whether this is /v3/kafka/CLUSTER/consumer/GROUP: the commits that Burrow holds, by
    topic.
    """
    topics = value.get("topics")
    return isinstance(topics, dict) and all(isinstance(each, list) for each in topics.values())


def _of_burrow_consumer(value: dict[str, Any], context: Context) -> Iterator[Reading]:
    for topic, partitions in value["topics"].items():
        for number, partition in enumerate(partitions):
            commits = partition.get("offsets") if isinstance(partition, dict) else None
            for commit in commits if isinstance(commits, list) else []:
                yield _of_commit(commit, topic, number, context)


def _of_commit(commit: Any, topic: Any, partition: Any, context: Context) -> Reading:
    """The log end offset at the time when Burrow received a commit: its offset plus its lag.

    Returns None without a lag: Burrow did not know the log end offset yet.
    """
    if not isinstance(commit, dict) or commit.get("lag") is None:
        return None
    return reading_by(_commit, commit, topic, partition, context)


def _commit(commit: dict[str, Any], topic: Any, partition: Any, context: Context) -> Sighting:
    end = offset_of(commit.get("offset")) + offset_of(commit["lag"])
    time_ms = context.time_ms(commit.get("timestamp"))
    return Sighting(
        topic_of(topic), partition_of(partition), offset_of(end), time_ms, context.cluster
    )


# Prometheus -----------------------------------------------------------------------------------


def _is_series(value: dict[str, Any]) -> bool:
    has_samples = any(isinstance(value.get(name), list) for name in ("value", "values"))
    return has_samples and isinstance(value.get("metric"), dict)


def _of_series(value: dict[str, Any], context: Context) -> Iterator[Reading]:
    labels = value["metric"]
    name = labels.get("__name__")
    if name is None:
        yield NoSighting(
            "a series without a metric name: query the metric itself, not an expression"
        )
        return
    for sample in value["values"] if "values" in value else [value["value"]]:
        if isinstance(sample, list) and len(sample) == 2:
            yield of_sample(str(name), labels, sample[1], context, sample[0])
        else:
            yield NoSighting("not a sample of Prometheus")


def of_sample(
    name: str, labels: Mapping[str, Any], value: Any, context: Context, time: Any
) -> Reading:
    """The sighting in a sample of Prometheus, or None for other series, and for NaN, which means
    that the exporter did not know the offset.
    """
    if not _SERIES.fullmatch(name) or str(value).lower() == "nan":
        return None
    return reading_by(_sample, labels, value, context, time)


def _sample(labels: Mapping[str, Any], value: Any, context: Context, time: Any) -> Sighting:
    names = _names(tuple(labels))
    return Sighting(
        topic_of(labels.get(names.topic or "")),
        partition_of(labels.get(names.partition or "")),
        offset_of(value),
        context.time_ms(time),
        next((labels[each] for each in _CLUSTERS if labels.get(each)), context.cluster),
    )


class _Shape(NamedTuple):
    format: str
    is_of: Callable[[dict[str, Any]], bool]
    read: Callable[[dict[str, Any], Context], Iterator[Reading]]


_SHAPES = (
    _Shape(JSON, _is_plain, _of_plain),
    _Shape(PROMETHEUS, _is_series, _of_series),
    _Shape(BURROW, _is_burrow_topic, _of_burrow_topic),
    _Shape(BURROW, _is_burrow_partition, _of_burrow_partition),
    _Shape(BURROW, _is_burrow_consumer, _of_burrow_consumer),
)
