"""Lists of partitions, topics and positions, as each client library prints them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_TOPIC = r"[\w.-]+"
_PYTHON = re.compile(r"TopicPartition\(topic='([^']*)', partition=(\d+)\)")
_POSITION = re.compile(r"(?:^\{|, )([\w.-]+-\d+)=OffsetAndMetadata\{offset=(\d+)[,}]")
_PYTHON_TOPIC = re.compile(r"'([^']*)'")

# A search tries each name once, starting at its first character.
_NAME = rf"(?<![\w.-]){_TOPIC}"
_ERLANG = r"partition=\d+ begin_offset=[^ ]+(?: metadata='[^']*')?"
_ITEM = "|".join(
    (
        r"TopicPartition\([^()]*\)",
        rf"{_TOPIC}[/:]?\[[\d ]*\]",
        rf"{_TOPIC} \[\d+\]",
        rf"{_TOPIC}\([^()]*\)\[\d+\]",
        rf"\{{topic:{_TOPIC} partition:\d+\}}:-?\d+",
        rf"{_TOPIC}[-/]\d+",
        rf"{_TOPIC}:(?: {_ERLANG})+",
    )
)
LIST = (
    rf"(?:frozenset\()?[\[{{(]?(?:(?:{_ITEM})(?:(?:, ?| )(?:{_ITEM}))*)?[\]}})]?\)?"
    rf"|(?:frozen)?set\(\)|{_TOPIC}`: [\d, ]*"
)
"""Matches a list of partitions."""

_Partitions = Iterator[tuple[str, str]]


def _each(pattern: str) -> Callable[[str], _Partitions]:
    """Finds topic and partition."""
    one = re.compile(pattern)
    return lambda text: ((match[1], match[2]) for match in one.finditer(text))


def _by_topic(pattern: str, number: str = r"\d+") -> Callable[[str], _Partitions]:
    """Finds a topic and its partitions, each a ``number``."""
    of_topic = re.compile(pattern)
    return lambda text: (
        (match[1], partition)
        for match in of_topic.finditer(text)
        for partition in re.findall(number, match[2])
    )


# The beginning of each list format, and the pattern of its partitions.
_FORMS = tuple(
    (re.compile(beginning), partitions)
    for beginning, partitions in (
        # Formats: franz-go `orders[0 1], pay[2]`, kafka-go `orders/[0 1]`, sarama `orders:[0 1]
        # pay:[2]`.
        (rf"{_NAME}[/:]?\[[\d ]*\]", _by_topic(rf"({_NAME})[/:]?\[([\d ]*)\]")),
        (rf"{_NAME}/\d+$", _each(rf"({_NAME})/(\d+)")),  # sarama
        (rf"{_NAME} \[\d+\]", _each(rf"({_NAME}) \[(\d+)\]")),  # programs with librdkafka
        (r"\{topic:", _each(rf"\{{topic:({_TOPIC}) partition:(\d+)\}}")),  # kafka-go
        (rf"{_NAME}\([^()]*\)\[", _each(rf"({_NAME})\([^()]*\)\[(\d+)\]")),  # librdkafka
        (rf"{_NAME}: partition=", _by_topic(rf"({_NAME}):((?: {_ERLANG})+)", r"partition=(\d+)")),
        (rf"{_NAME}`: ", _by_topic(rf"({_NAME})`: ([\d, ]*)")),  # ruby-kafka
    )
)


def partitions_in(text: str) -> tuple[str, ...]:
    """Each partition as topic-partition, in the order of the text; sets of Python are sorted."""
    if "TopicPartition(" in text:
        return tuple(sorted(f"{topic}-{number}" for topic, number in _PYTHON.findall(text)))
    for beginning, partitions in _FORMS:
        if beginning.match(text):
            return tuple(f"{topic}-{number}" for topic, number in partitions(text))
    return () if text in ("set()", "frozenset()") else _of_java(text)


def positions_in(text: str) -> dict[str, int]:
    """Offset by topic-partition in a map of OffsetAndMetadata, as Java prints it."""
    return {partition: int(offset) for partition, offset in _POSITION.findall(text)}


def topics_in(text: str) -> tuple[str, ...]:
    """The names of topics, in the order of the text."""
    return tuple(_PYTHON_TOPIC.findall(text)) if "'" in text else _of_java(text)


def _of_java(text: str) -> tuple[str, ...]:
    """Since Kafka 2.4, collections that are printed as collections have brackets."""
    inner = text.removeprefix("[").removesuffix("]")
    return tuple(inner.split(", ")) if inner else ()
