"""The likely kind of a file without an understood line, and what to do about it."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from itertools import islice
from typing import NamedTuple

from coordinator_core.log_lines.heads import level_in
from jobs.sources.logs.layouts import is_utf8

_SAMPLED_LINES = 1000
_HEAD_LENGTH = 200
_LARGEST_BATCH = 1 << 30
_TEXT_BYTES = 1 << 16
_DESCRIBED = re.compile(
    rb"(?:^|\s)(?:GROUP +)?TOPIC +PARTITION +(?:LEADER-EPOCH +)?CURRENT-OFFSET\s"
    rb"|(?:^|\s)GROUP +(?:CONSUMER-ID +(?:GROUP-INSTANCE-ID +)?HOST|COORDINATOR \(ID\)) ",
    re.MULTILINE,
)
_FORMATTED_GROUPS = re.compile(
    rb"^(?:[^\n]*::GroupMetadata\(groupId=|(?>[^\n]*?::\[)[^\n]*,Some\()", re.MULTILINE
)
FORMATTED = re.compile(
    rb'(?:^|\})\{"key":\{"(?:type|version)":|'
    rb"^\[[^\n]*\]::(?:OffsetAndMetadata\(|\[OffsetMetadata\[|NULL)",
    re.MULTILINE,
)
"""Formatter output that Regroup can read."""
_KCAT = re.compile(rb'^\{"topic":"__consumer_offsets","partition":\d+,"offset":\d+,', re.MULTILINE)
_DUMPED = re.compile(rb"^(?:Dumping \S+\.log|baseOffset: \d+ lastOffset: \d+)", re.MULTILINE)
_OF_COORDINATOR = re.compile(
    rb"\[Group(?:Coordinator|MetadataManager)[ \]]|kafka\.coordinator\.group"
)
_OF_CONSUMER = re.compile(
    rb"\[Consumer (?:clientId|instanceId)=|\[thrd:|kafka\.coordinator\.consumer"
)
_OF_BROKER = re.compile(
    rb"\(kafka\.(?:server|log|cluster|network|controller|zk)\.|\[KafkaServer id="
)
# Libraries by the texts that their applications print, with the setting that makes the library log.
_LIBRARIES = (
    (
        re.compile(rb"ConsumerConfig values|AppInfoParser|org\.apache\.kafka\.|o\.a\.k\."),
        "Kafka's Java client",
        "set the logger org.apache.kafka.clients.consumer to INFO",
    ),
    (
        re.compile(rb"librdkafka|rdkafka|confluent_kafka|confluent-kafka"),
        "librdkafka",
        "set debug=cgrp,consumer, and pass its log callback to the application's logger",
    ),
    (
        re.compile(rb"sarama"),
        "sarama",
        'set sarama.Logger = log.New(os.Stdout, "[sarama] ", log.LstdFlags)',
    ),
    (re.compile(rb"kafkajs"), "kafkajs", "create it with logLevel: logLevel.INFO"),
    (
        re.compile(rb"segmentio/kafka-go|kafka-go"),
        "kafka-go",
        "set Logger and ErrorLogger of its ReaderConfig",
    ),
    (
        re.compile(rb"franz-go|\bkgo\b"),
        "franz-go",
        "create its client with kgo.WithLogger at kgo.LogLevelInfo",
    ),
    (
        re.compile(rb"kafka-python|aiokafka|\bkafka\.(?:conn|client)\b"),
        "kafka-python or aiokafka",
        'set logging.getLogger("kafka") and "aiokafka" to INFO',
    ),
)
_SHOWN_LEVELS = ("TRACE", "DEBUG", "INFO")
COORDINATOR_AT_INFO = (
    "set kafka.coordinator.group and org.apache.kafka.coordinator.group to INFO in its log4j"
    " configuration"
)


class Kind(NamedTuple):
    """``what`` says what the file seems to be.  ``is_usual`` means that the file is a log of the
    requested kind and may have no line about groups.
    """

    what: str
    remedy: str
    is_usual: bool = False

    @property
    def sentence(self) -> str:
        return f"{self.what}: {self.remedy}"


EMPTY = Kind("it is empty", "give a log that is not empty")
# Prefixes of lines without date and time, by library, with the setting that makes it print date and
# time.
_UNDATED = (
    (
        re.compile(rb"^\w+:(?:aiokafka|kafka)\.", re.MULTILINE),
        'configure logging with format="%(asctime)s %(levelname)s %(name)s %(message)s"',
    ),
    (
        re.compile(rb"^\[(?:DEBUG|INFO|WARN|ERROR)\] [^\n]*; group: ", re.MULTILINE),
        "give kgo.BasicLogger a prefix function that returns"
        ' time.Now().Format(time.RFC3339Nano) + " "',
    ),
    (
        re.compile(rb"^(?:\[sarama\] ?)?(?:consumergroup/|client/coordinator)", re.MULTILINE),
        "create sarama.Logger with log.LstdFlags",
    ),
    (
        re.compile(rb"^[\[<(]?(?:DEBUG|INFO|WARN|ERROR)[^\n:]*\[\w+ clientId=", re.MULTILINE),
        "begin the pattern of the log4j or logback layout with %d{ISO8601}",
    ),
)
_TIME_OF_DAY = re.compile(rb"\b\d{1,2}:\d\d:\d\d\b")
_CONTAINERS_TIMES = "or export the log with the container's times (kubectl logs --timestamps)"


def kind_of_undated_log(beginning: bytes) -> Kind:
    """The kind of a log in which no line has a complete date, with the way to give dates."""
    own = next((remedy for mark, remedy in _UNDATED if mark.search(beginning)), None)
    if own is None and _TIME_OF_DAY.search(beginning):
        remedy = "print dates in the log's layout, or give --log-date"
    else:
        remedy = f"{own or 'print date and time in the layout of the log'}, {_CONTAINERS_TIMES}"
    return Kind("no line has a complete date", remedy)


def is_error(kind: Kind, *, is_alone: bool) -> bool:
    """Returns whether a run fails because of a log without an understood line.

    ``is_alone`` means that no other log of the same option has an understood line.  An empty log
    beside other logs may just have been rolled.
    """
    return is_alone or not (kind.is_usual or kind == EMPTY)


def kind_of_broker_log(beginning: bytes) -> Kind:
    """The kind of a file that was given as a broker's log and has no understood line."""
    return _general_kind(beginning) or _of_a_broker(beginning)


def kind_of_client_log(beginning: bytes) -> Kind:
    """The kind of a file that was given as a client's log and has no understood line."""
    return _general_kind(beginning) or _of_a_client(beginning)


def kind_of_dump(beginning: bytes) -> Kind | None:
    """The kind of a file that was given as a dump, or None if it may be a dump."""
    if beginning[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return Kind("it seems to be UTF-16", "convert it with iconv -f UTF-16 -t UTF-8")
    if beginning.lstrip().startswith(b"{"):
        return None
    if _OF_COORDINATOR.search(beginning) or _OF_BROKER.search(beginning):
        return Kind("it seems to be a broker's log", "give it as --broker-log")
    if _OF_CONSUMER.search(beginning):
        return Kind("it seems to be an application's log", "give it as --client-log")
    return _general_kind(beginning)


def _general_kind(beginning: bytes) -> Kind | None:
    text = beginning[:_TEXT_BYTES].rsplit(b"\n", 1)[0]
    if not beginning.strip():
        return EMPTY
    if _is_segment(beginning):
        return Kind("it seems to be a binary segment of a topic", "give it as --segments")
    if _DESCRIBED.search(beginning):
        what = "it seems to be output of kafka-consumer-groups --describe, which has no rebalances"
        return Kind(what, "read it with regroup snapshot --describe")
    if _DUMPED.search(beginning):
        return Kind("it seems to be text of kafka-dump-log", "give it as --dump")
    if _FORMATTED_GROUPS.search(beginning):
        what = (
            "it seems to be output of GroupMetadataMessageFormatter before Kafka 3.8, which prints"
            " no times and no assignments"
        )
        remedy = (
            "use kafka-dump-log --offsets-decoder, or the formatter of Kafka 4, and give its"
            " output as --dump"
        )
        return Kind(what, remedy)
    if FORMATTED.search(beginning) or _KCAT.search(beginning):
        what = "it seems to be records of __consumer_offsets that a formatter or kcat printed"
        return Kind(what, "give it as --dump")
    if not is_utf8(text) and b"\0" in text:
        return Kind("it does not seem to be text", "give a log as text, gzip or zstd")
    return None


def _of_a_broker(beginning: bytes) -> Kind:
    if _OF_COORDINATOR.search(beginning):
        what = "it names the coordinator, but no line is understood"
        return Kind(what, "see its lines in table quarantine, and the examples")
    if _OF_CONSUMER.search(beginning):
        return Kind("it seems to be an application's log", "give it as --client-log")
    if not _OF_BROKER.search(beginning):
        return Kind("it does not seem to be a broker's log", "give server.log")
    if _is_silent(beginning):
        return Kind(
            "it seems to be the log of a broker whose log level is WARN", COORDINATOR_AT_INFO
        )
    what = (
        "it seems to be the log of a broker that coordinates no group, or whose coordinator "
        "logger is off"
    )
    return Kind(what, COORDINATOR_AT_INFO, is_usual=True)


def _of_a_client(beginning: bytes) -> Kind:
    if _of_a_brokers_logger(beginning) and not _OF_CONSUMER.search(beginning):
        return Kind("it seems to be a broker's log", "give it as --broker-log")
    application = "it seems to be the log of an application"
    if _is_silent(beginning):
        application += " whose log level is WARN"
    for mark, library, remedy in _LIBRARIES:
        if mark.search(beginning):
            return Kind(f"{application} with {library}; no line is about membership", remedy)
    remedy = "if the application has consumers, log its Kafka client library at INFO"
    return Kind(f"{application} without consumers", remedy, is_usual=True)


def _of_a_brokers_logger(beginning: bytes) -> bool:
    return any(mark.search(beginning) for mark in (_OF_COORDINATOR, _OF_BROKER))


def _is_segment(beginning: bytes) -> bool:
    """Returns whether the file begins with a record batch: base offset, length and a magic of 0 to
    2.
    """
    length = int.from_bytes(beginning[8:12], "big")
    is_batch = len(beginning) > 16 and beginning[16] <= 2 and 14 <= length < _LARGEST_BATCH
    return is_batch and beginning[:2] == b"\0\0"


def _is_silent(beginning: bytes) -> bool:
    """Returns whether lines have levels, but no level below WARN."""
    heads = (line[:_HEAD_LENGTH].decode("utf-8", "replace") for line in beginning.splitlines())
    levels = Counter(map(level_in, islice(heads, _SAMPLED_LINES)))
    del levels[None]
    return bool(levels) and not any(level in levels for level in _SHOWN_LEVELS)
