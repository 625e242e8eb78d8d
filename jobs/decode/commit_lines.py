"""`regroup decode`'s lines for offset commits, one run of batches at a time.

Most records of a busy `__consumer_offsets` are offset commits, and most of a commit's line repeats:
keys, versions, metadata and leader epochs. Each repeated piece of text is cut once from the
reference's line of a sample record.  The four numbers and the base64 value that differ are joined
with the pieces column by column.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.segments.columns import Columns, at_any_byte
from jobs.segments.record_batch import CONTROL

OFFSET_COMMIT = 1
VERSIONS = (3, 4)  # versions of records since Kafka 2.1; the reference formats older versions
TAGS_SIZE = {3: 0, 4: 1}  # a value of version 4 ends with its count of tagged fields
MIDDLE_START = 10  # position after version and offset
MIN_VALUE_SIZE = 24  # number of cached pieces of text: metadata may differ in every commit
CACHE_SIZE = 100_000  # pieces of text; metadata may differ in every commit

# Numbers of a sample line, which are recognizable in its text.
LOG_OFFSET, TIMESTAMP, OFFSET, COMMIT_TIMESTAMP = (
    1010101010101010101, 1020202020202020202, 1030303030303030303, 1040404040404040404,
)  # fmt: skip
SAMPLE_KEY = b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"
SAMPLE_MIDDLE = {3: b"\xff\xff\xff\xff\x00\x00", 4: b"\xff\xff\xff\xff\x01"}
SAMPLE_KEY_TEXT = '"group":"g","topic":"t","partition":0'
SAMPLE_MIDDLE_TEXT = '"leader_epoch":-1,"metadata":""'
LEADER_EPOCH_SIZE = 4
# functions that return the length prefix of metadata
METADATA_SIZE: dict[int, Callable[[int], bytes]] = {
    3: lambda size: size.to_bytes(2, "big"),
    4: lambda size: bytes((size + 1,)),
}
# Text that needs no escaping in JSON, and whose length fits into one byte.
PLAIN = re.compile(rb"[ !#-\[\]-~]{0,126}")
_HEAD, _TIME = Struct(">hq"), Struct(">q")

ReferenceLine = Callable[[int, int, bytes, bytes | None], str]
"""The output line for (log offset, timestamp, key, value), with its newline, outside a
transaction."""

Pieces = tuple[str, str, str, str, str, str]


class CommitLines:
    """Lines of one partition; caches the pieces of text between runs."""

    def __init__(self, reference_line: ReferenceLine) -> None:
        self._line = reference_line
        self._keys: dict[tuple[bytes, int], tuple[str, str] | None] = {}
        self._middles: dict[tuple[bytes, int], str | None] = {}
        samples = {
            version: self._pieces(SAMPLE_KEY, SAMPLE_MIDDLE[version], version)
            for version in VERSIONS
        }
        self._tombstones: dict[bytes, str | None] = {}
        self._ends = {version: pieces[5] for version, pieces in samples.items() if pieces}
        self._plain_keys = {
            version: (pieces[2].split(_base64_of(SAMPLE_KEY)), pieces[3].split(SAMPLE_KEY_TEXT))
            for version, pieces in samples.items()
            if pieces
        }
        self._plain_middles = {
            version: pieces[4].split(SAMPLE_MIDDLE_TEXT)
            for version, pieces in samples.items()
            if pieces
        }
        self._begin, self._between = next(pieces for pieces in samples.values() if pieces)[:2]

    def lines(
        self, columns: Columns, endings: list[str], ending_of_batch: np.ndarray
    ) -> tuple[np.ndarray, pa.StringArray]:
        """Rows of ``columns`` and their lines, each with its newline.

        ``endings[ending_of_batch[i]]`` ends the lines of batch i. Rows are missing if they are not
        offset commits, or need the reference.
        """
        rows = _commits(columns)
        if not len(rows):
            return rows, _strings([])
        version = columns.data[columns.value_start[rows] + 1].astype(np.int64)
        key, key_texts = self._key_texts(columns, rows, version)
        middle, middle_texts = self._middle_texts(columns, rows, version)
        has_text = _is_set(key_texts)[key] & _is_set(middle_texts)[middle]
        rows, version = rows[has_text], version[has_text]
        key, middle = key[has_text], middle[has_text]
        if not len(rows):
            return rows, _strings([])
        text = pc.binary_join_element_wise(
            _strings([self._begin])[0],
            _digits(columns.offsets[rows]),
            _strings([self._between])[0],
            _digits(columns.timestamps[rows]),
            _spread([text and text[0] for text in key_texts], key),
            _base64(columns, rows),
            _spread([text and text[1] for text in key_texts], key),
            _digits(_int64s(columns.data, columns.value_start[rows] + 2)),
            _spread(middle_texts, middle),
            _digits(_int64s(columns.data, _commit_timestamp_at(columns, rows, version))),
            self._line_ends(version, endings, ending_of_batch[columns.batch[rows]]),
            _strings([""])[0],
        )
        return rows, text

    def tombstone(self, key: bytes, offset: int, timestamp: int) -> str | None:
        """The line of a tombstone with that key, or None if it needs the reference."""
        if key not in self._tombstones:
            _make_room(self._tombstones)
            head = f"{self._begin}{LOG_OFFSET}{self._between}{TIMESTAMP}"
            line = self._line(LOG_OFFSET, TIMESTAMP, key, None)
            self._tombstones[key] = line.removeprefix(head) if line.startswith(head) else None
        rest = self._tombstones[key]
        return rest and f"{self._begin}{offset}{self._between}{timestamp}{rest}"

    def _key_texts(
        self, columns: Columns, rows: np.ndarray, version: np.ndarray
    ) -> tuple[np.ndarray, list[tuple[str, str] | None]]:
        """A code for each row, and for each code the texts before and after the value."""
        start = columns.key_start[rows]
        keys = _slices(columns.data, start, start + columns.key_length[rows])
        codes, used = _distinct(keys, version)
        return codes, [self._key_text(key, version) for key, version in used]

    def _middle_texts(
        self, columns: Columns, rows: np.ndarray, version: np.ndarray
    ) -> tuple[np.ndarray, list[str | None]]:
        """A code for each row, and for each code the text between offset and commit timestamp."""
        start = columns.value_start[rows] + MIDDLE_START
        end = _commit_timestamp_at(columns, rows, version)
        codes, used = _distinct(_slices(columns.data, start, end), version)
        return codes, [self._middle_text(middle, version) for middle, version in used]

    def _key_text(self, key: bytes, version: int) -> tuple[str, str] | None:
        if (key, version) not in self._keys:
            _make_room(self._keys)
            texts = self._plain_key_text(key, version)
            if texts is None:
                pieces = self._pieces(key, SAMPLE_MIDDLE[version], version)
                texts = pieces and (pieces[2], pieces[3])
            self._keys[key, version] = texts
        return self._keys[key, version]

    def _plain_key_text(self, key: bytes, version: int) -> tuple[str, str] | None:
        """The text for names that need no escaping, without the cost of a sample line per key."""
        topic_at = 4 + int.from_bytes(key[2:4])
        group, topic = key[4:topic_at], key[topic_at + 2 : -4]
        if not (PLAIN.fullmatch(group) and PLAIN.fullmatch(topic)):
            return None
        if len(key) < topic_at + 6 or key[topic_at : topic_at + 2] != len(topic).to_bytes(2):
            return None
        partition = int.from_bytes(key[-4:], signed=True)
        fields = f'"group":"{group.decode()}","topic":"{topic.decode()}","partition":{partition}'
        before_value, before_offset = self._plain_keys[version]
        return _base64_of(key).join(before_value), fields.join(before_offset)

    def _middle_text(self, middle: bytes, version: int) -> str | None:
        if (middle, version) not in self._middles:
            _make_room(self._middles)
            text = self._plain_middle_text(middle, version)
            if text is None:
                pieces = self._pieces(SAMPLE_KEY, middle, version)
                text = pieces and pieces[4]
            self._middles[middle, version] = text
        return self._middles[middle, version]

    def _plain_middle_text(self, middle: bytes, version: int) -> str | None:
        """The text for metadata that needs no escaping, computed without a sample line: some
        clients, such as Kafka Streams, write different metadata in every commit.
        """
        size = METADATA_SIZE[version]
        metadata = middle[LEADER_EPOCH_SIZE + len(size(0)) :]
        if not PLAIN.fullmatch(metadata):
            return None
        if middle[LEADER_EPOCH_SIZE:] != size(len(metadata)) + metadata:
            return None
        leader_epoch = int.from_bytes(middle[:LEADER_EPOCH_SIZE], "big", signed=True)
        fields = f'"leader_epoch":{leader_epoch},"metadata":"{metadata.decode()}"'
        return fields.join(self._plain_middles[version])

    def _pieces(self, key: bytes, middle: bytes, version: int) -> Pieces | None:
        """The texts around the numbers and the value, or None if the sample's line does not have
        each of them exactly once.
        """
        value = _HEAD.pack(version, OFFSET) + middle + _TIME.pack(COMMIT_TIMESTAMP)
        value += bytes(TAGS_SIZE[version])
        text = self._line(LOG_OFFSET, TIMESTAMP, key, value)
        pieces = []
        base64 = f'"{_base64_of(value)}"'
        for part in (
            str(LOG_OFFSET), str(TIMESTAMP), base64, f'"offset":{OFFSET}',
            f'"commit_timestamp":{COMMIT_TIMESTAMP}',
        ):  # fmt: skip
            if text.count(part) != 1:
                return None
            piece, text = text.split(part)
            pieces.append(piece)
        begin, between, before_value, before_offset, between_values = pieces
        return (
            begin,
            between,
            before_value + '"',
            '"' + before_offset + '"offset":',
            between_values + '"commit_timestamp":',
            text,
        )

    def _line_ends(
        self, version: np.ndarray, endings: list[str], ending: np.ndarray
    ) -> pa.StringArray:
        texts = [
            self._ends[version].removesuffix("}\n") + closing
            for closing in endings
            for version in VERSIONS
        ]
        codes = ending * len(VERSIONS) + (version == 4)
        lowest = int(codes.min())
        if lowest == codes.max():
            return _spread(texts[lowest : lowest + 1], codes)
        return _spread(texts, codes)


def _make_room(texts: dict[Any, Any]) -> None:
    if len(texts) >= CACHE_SIZE:
        texts.clear()


def _commits(columns: Columns) -> np.ndarray:
    """Rows with a key of type 1 and a value of one of VERSIONS, by its first and last bytes."""
    data = columns.data
    is_data = (columns.headers["attributes"] & CONTROL == 0)[columns.batch]
    is_sized = (columns.key_length > 2) & (columns.value_length >= MIN_VALUE_SIZE)
    rows = np.flatnonzero(is_data & is_sized)
    key_start, value_start = columns.key_start[rows], columns.value_start[rows]
    version = data[value_start + 1]
    is_commit = (data[key_start] == 0) & (data[key_start + 1] == OFFSET_COMMIT)
    is_commit &= (data[value_start] == 0) & ((version == 3) | (version == 4))
    untagged = data[value_start + columns.value_length[rows] - 1] == 0
    commits: np.ndarray = rows[is_commit & ((version == 3) | untagged)]
    return commits


def _slices(data: np.ndarray, start: np.ndarray, end: np.ndarray) -> pa.BinaryArray:
    """Slices of ``data`` in ascending order, without a Python object per slice: they are every
    second element of an array over ``data``.
    """
    base = int(start[0])
    bounds = np.empty(2 * len(start), np.int32)
    bounds[0::2] = start - base
    bounds[1::2] = end - base
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(data[base : int(end[-1])])]
    array = pa.Array.from_buffers(pa.binary(), len(bounds) - 1, buffers)
    return array.take(_integers(np.arange(0, len(bounds), 2)))


def _distinct(
    texts: pa.BinaryArray, version: np.ndarray
) -> tuple[np.ndarray, list[tuple[bytes, int]]]:
    """A code for each row, and for each code its bytes and version."""
    encoded = texts.dictionary_encode()
    codes = _numbers(encoded.indices, np.int32) * len(VERSIONS) + (version == 4)
    words = encoded.dictionary.to_pylist()
    used = np.bincount(codes) > 0
    codes = (np.cumsum(used) - 1)[codes]
    return codes, [(words[code // 2], VERSIONS[code % 2]) for code in np.flatnonzero(used).tolist()]


def _is_set(texts: Sequence[object]) -> np.ndarray:
    return np.array([text is not None for text in texts], bool)


def _commit_timestamp_at(columns: Columns, rows: np.ndarray, version: np.ndarray) -> np.ndarray:
    end = columns.value_start[rows] + columns.value_length[rows]
    position: np.ndarray = np.where(version == 4, end - 9, end - 8)
    return position


def _spread(texts: Sequence[str | None], codes: np.ndarray) -> pa.StringArray:
    """The text of each row; a single text stays a scalar."""
    if len(texts) == 1:
        return _strings([texts[0] or ""])[0]
    return _strings([text or "" for text in texts]).take(_integers(codes))


def _strings(texts: list[str]) -> pa.StringArray:
    """ASCII texts as an array, without `pa.array`, which imports pandas and therefore takes a
    quarter of a second.
    """
    bounds = np.zeros(len(texts) + 1, np.int32)
    bounds[1:] = np.cumsum([len(text) for text in texts])
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer("".join(texts).encode("ascii"))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def _integers(numbers: np.ndarray) -> pa.Int64Array:
    buffer = pa.py_buffer(np.ascontiguousarray(numbers, np.int64))
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, buffer])


def _numbers(array: pa.Array, dtype: type) -> np.ndarray:
    """The array's numbers, without `to_numpy`, which also imports pandas."""
    values: np.ndarray = np.frombuffer(array.buffers()[1], dtype)
    return values[array.offset : array.offset + len(array)].astype(np.int64)


def _digits(numbers: np.ndarray) -> pa.StringArray:
    return _integers(numbers).cast(pa.string())


def _int64s(data: np.ndarray, at: np.ndarray) -> np.ndarray:
    numbers: np.ndarray = at_any_byte(data, np.dtype(">i8"))[at].astype(np.int64)
    return numbers


def _base64_of(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def _base64(columns: Columns, rows: np.ndarray) -> pa.StringArray:
    """Values in base64, encoded in one call: each value is padded to a multiple of three bytes, and
    the characters of the padding are replaced by ``=``."""
    start, length = columns.value_start[rows], columns.value_length[rows]
    padding = -length % 3
    values = _slices(columns.data, start, start + length)
    zeros = _strings(["", "\0", "\0\0"]).cast(pa.binary())
    filled = pc.binary_join_element_wise(values, zeros.take(_integers(padding)), zeros[0])
    ends = np.cumsum((length + padding) // 3 * 4)
    text = np.frombuffer(
        binascii.b2a_base64(filled.buffers()[2][: int(ends[-1]) // 4 * 3], newline=False), np.uint8
    ).copy()
    text[ends[padding > 0] - 1] = ord("=")
    text[ends[padding == 2] - 2] = ord("=")
    bounds = np.zeros(len(ends) + 1, np.int32)
    bounds[1:] = ends
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), len(ends), buffers)
