"""Source dump: columns by their names, unreadable rows in quarantine, every record once."""

import base64
import gzip
import json
import re
import shutil
from datetime import UTC, date, datetime
from decimal import Decimal

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from coordinator_core.records import encode_key, encode_value
from jobs.checks.check import broken_laws
from jobs.console.errors import UsageError
from jobs.ingest import Inputs, run
from jobs.lake.dates import DateRange
from jobs.segments.writer import record_batch
from jobs.sources.dumps.columns import SPELLINGS, columns_of
from jobs.sources.dumps.dump import Dump, file_rows

pytestmark = pytest.mark.embedded_suffices

DAY_BEFORE, DAY, NO_TIME = date(2026, 11, 20), date(2026, 11, 21), date(1970, 1, 1)
DAY_BEFORE_MS, DAY_MS = (
    1_795_175_000_000,
    1_795_219_200_000,
)  # 2026-11-20 11:43:20 and 2026-11-21 00:00
KEY_OF_GROUP = encode_key(2, {"group": "g"})
COMMIT = encode_key(1, {"group": "g", "topic": "t", "partition": 0})
COMMITTED = encode_value(
    1, 3, {"offset": 4, "leader_epoch": -1, "metadata": "", "commit_timestamp": 5}
)
UNKNOWN = b"\x00\x63\x00\x01g"  # key type 99
PLAIN = {name: (name,) for name in SPELLINGS}


def b64(data):
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("topic partition offset timestamp timestampType key value", "key value offset topic"),
        ("topic partition offset tstype ts broker key payload", "key payload offset topic"),
        ("metadata.topic metadata.partition metadata.offset metadata.timestamp key value headers",
         "key value metadata.offset metadata.topic"),
        ("Key Value _partition kafkaPartition Kafka-Offset kafka_timestamp",
         "Key Value Kafka-Offset None"),
        ("key value payload partition offset timestamp", "key value offset None"),
    ],
    ids=["Spark's Kafka source", "kcat -J", "an envelope", "InsertField, cases mixed",
         "the plain name before another"],
)  # fmt: skip
def test_columns_by_names_in_common_use(names, expected):
    columns = columns_of([tuple(name.split(".")) for name in names.split()], "dump")

    chosen = (columns.get(name) for name in ("key", "value", "offset", "topic"))
    assert " ".join("None" if path is None else ".".join(path) for path in chosen) == expected


def test_a_missing_column_is_an_error_with_the_existing_names():
    with pytest.raises(UsageError) as raised:
        columns_of([("key",), ("Offset",), ("partition",), ("data",)], "/dumps/a.parquet")

    assert str(raised.value) == (
        "--dump /dumps/a.parquet: no column for timestamp and value; it has Offset, data, key, "
        "partition; a dump needs key, value, partition, offset and timestamp"
    )


ENCODED = b64(KEY_OF_GROUP)
ROW = {"partition": 3, "offset": 7, "timestamp": DAY_MS, "key": ENCODED, "value": b64(b"v")}
JSON = [
    # line -> partition, offset, time, key, value, reason
    (ROW, 3, 7, DAY_MS, KEY_OF_GROUP, b"v", None),
    (ROW | {"value": None}, 3, 7, DAY_MS, KEY_OF_GROUP, None, None),
    ({k: v for k, v in ROW.items() if k != "value"}, 3, 7, DAY_MS, KEY_OF_GROUP, None, None),
    (ROW | {"offset": "8", "partition": "0"}, 0, 8, DAY_MS, KEY_OF_GROUP, b"v", None),
    (ROW | {"key": ENCODED[:5] + "\r\n" + ENCODED[5:]}, 3, 7, DAY_MS, KEY_OF_GROUP, b"v", None),
    (ROW | {"timestamp": "2026-11-21T01:00:00+01:00"}, 3, 7, DAY_MS, KEY_OF_GROUP, b"v", None),
    (ROW | {"timestamp": "2026-11-21 00:00:00"}, 3, 7, DAY_MS, KEY_OF_GROUP, b"v", None),
    (ROW | {"timestamp": str(DAY_MS)}, 3, 7, DAY_MS, KEY_OF_GROUP, b"v", None),
    (ROW | {"timestamp": None}, 3, 7, None, KEY_OF_GROUP, b"v", None),
    (ROW | {"timestamp": -1}, 3, 7, -1, KEY_OF_GROUP, b"v", None),
    (ROW | {"key": None}, 3, 7, DAY_MS, None, b"v", None),
    (ROW | {"partition": -1}, None, None, None, "line", None, "partition -1"),
    (ROW | {"partition": 2**31}, None, None, None, "line", None, "partition 2147483648"),
    (ROW | {"offset": None}, 3, None, None, "line", None, "offset None"),
    (ROW | {"offset": True}, 3, None, None, "line", None, "offset True"),
    (ROW | {"offset": 2**63}, 3, None, None, "line", None, "offset 9223372036854775808"),
    (ROW | {"timestamp": "noon"}, 3, 7, None, "line", None, "timestamp 'noon'"),
    (ROW | {"key": "no base64!"}, 3, 7, DAY_MS, "line", None, "key is not base64"),
    (ROW | {"value": 5}, 3, 7, DAY_MS, "line", None, "value is not base64"),
    ([ROW], None, None, None, "line", None, "not a JSON object"),
    ("[" * 100_000, None, None, None, "line", None, "not a JSON object"),
]


@pytest.mark.parametrize(
    ("record", "partition", "offset", "time_ms", "key", "value", "reason"), JSON
)
def test_a_line_of_json(tmp_path, record, partition, offset, time_ms, key, value, reason):
    line = (record if isinstance(record, str) else json.dumps(record)).encode()
    (tmp_path / "dump.jsonl").write_bytes(b"\n" + line)

    [batch] = file_rows(str(tmp_path / "dump.jsonl"), "json", PLAIN)

    [row] = batch.to_pylist()
    columns = ("position", "bytes", "partition", "log_offset", "time_ms", "key", "value", "reason")
    assert [row[name] for name in columns] == [
        1, len(line) + 1, partition, offset, time_ms, line if key == "line" else key, value, reason
    ]  # fmt: skip


def test_a_truncated_gzip_file_is_read_up_to_its_end(tmp_path):
    lines = b"".join(json.dumps(ROW | {"offset": n}).encode() + b"\n" for n in range(20_000))
    packed = gzip.compress(lines)
    (tmp_path / "dump.json.gz").write_bytes(packed[: len(packed) // 2])

    rows = [row for batch in file_rows(str(tmp_path / "dump.json.gz"), "json", PLAIN)
            for row in batch.to_pylist()]  # fmt: skip

    assert [row["log_offset"] for row in rows[:-1]] == list(range(len(rows) - 1))
    assert len(rows) > 5_000
    assert rows[-1]["reason"].startswith("cannot be decompressed: Compressed file ended before")
    assert rows[-1]["unread_bytes"] == 0


AVRO = fastavro.parse_schema({
    "type": "record", "name": "Exported", "fields": [
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "value", "type": ["null", "bytes"]},
        {"name": "kafka_partition", "type": "int"},
        {"name": "kafka_offset", "type": "long"},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
})  # fmt: skip


def avro(path, records):
    names = ("key", "value", "kafka_partition", "kafka_offset", "ts")
    rows = [dict(zip(names, record, strict=True)) for record in records]
    with open(path, "wb") as out:
        fastavro.writer(out, AVRO, rows, codec="deflate", sync_interval=1000)


def test_avro_is_read_up_to_the_damage(tmp_path):
    avro(tmp_path / "dump.avro", [(KEY_OF_GROUP, None, 1, n, DAY_MS) for n in range(200)])
    data = bytearray((tmp_path / "dump.avro").read_bytes())
    data[-30] ^= 0xFF
    (tmp_path / "dump.avro").write_bytes(data)

    dump = Dump(str(tmp_path / "dump.avro"))
    [((format_, columns), [file])] = dump.files.items()
    rows = [row for batch in file_rows(file, format_, dict(columns)) for row in batch.to_pylist()]

    *read, damaged = rows
    assert 0 < len(read) < 200
    assert [
        (row["position"], row["log_offset"], row["time_ms"], row["reason"]) for row in read
    ] == [(n, n, DAY_MS, None) for n in range(len(read))]
    assert damaged["reason"].startswith("no Avro block from byte ")
    assert damaged["key"] == bytes(data[-damaged["unread_bytes"] :])


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.jsonl", b"plain text\n", "no column for key and offset and partition"),
        ("a.jsonl", b'\xff\xfe{\x00"\x00', "it seems to be UTF-16"),
        ("a.parquet", b"PAR1 and no more", "cannot be read as parquet"),
        ("a.avro", b"Obj\x01\xff\xff", "cannot be read as avro"),
        ("_SUCCESS", b"x", "all files are empty or hidden"),
        ("empty.json", b"", "all files are empty or hidden"),
    ],
)
def test_a_file_that_is_not_a_dump_is_an_error_in_one_line(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)

    with pytest.raises(UsageError, match=message) as raised:
        Dump(str(tmp_path))

    assert "\n" not in str(raised.value)


def table(records, **columns):
    names = ("topic", "partition", "offset", "timestamp", "key", "value")
    types = (
        pa.string(),
        pa.int32(),
        pa.int64(),
        pa.timestamp("us", "UTC"),
        pa.binary(),
        pa.binary(),
    )
    return pa.table(
        {name: pa.array(values, columns.get(name, of))
         for name, of, *values in zip(names, types, *records, strict=True)}
    )  # fmt: skip


# column of a Parquet file -> column of RAW, its value, and the reason why the value is unreadable
ANY_TYPE = [
    ("topic", pa.array(["orders"], pa.string_view()), "topic", "orders", None),
    ("topic", pa.array([b"orders"]), "topic", "orders", None),
    ("topic", pa.array([b"\xff"]), "topic", None, "topic b'\\xff'"),
    ("topic", pa.array([["orders"]]), "topic", None, "topic ['orders']"),
    ("topic", pa.array([{"a": 1}]), "topic", None, "topic {'a': 1}"),
    ("partition", pa.array([3.0]), "partition", 3, None),
    ("partition", pa.array([3], pa.decimal256(40, 0)), "partition", 3, None),
    ("partition", pa.array([[3]]), "partition", None, "partition [3]"),
    ("offset", pa.array([1 << 63], pa.uint64()), "log_offset", None, f"offset {1 << 63}"),
    ("timestamp", pa.array([DAY_MS * 10**6], pa.timestamp("ns", "Asia/Tokyo")), "time_ms",
     DAY_MS, None),
    ("timestamp", pa.array([DAY]), "time_ms", None, "timestamp 2026-11-21"),
    ("key", pa.array([KEY_OF_GROUP], pa.binary_view()), "key", KEY_OF_GROUP, None),
    ("key", pa.array([KEY_OF_GROUP], pa.binary(len(KEY_OF_GROUP))), "key", KEY_OF_GROUP, None),
    ("key", pa.array([[0, 2]], pa.list_(pa.uint8())), "key", None,
     "key has the type list<element: uint8>, not bytes"),
    ("value", pa.array([5]), "value", None, "value has the type int64, not bytes"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "column", "read_as", "value", "reason"),
    ANY_TYPE,
    ids=[f"{name} {column.type}" for name, column, *_ in ANY_TYPE],
)
def test_a_column_of_any_type_is_read_or_refused(tmp_path, name, column, read_as, value, reason):
    columns = {
        "topic": pa.array(["__consumer_offsets"]),
        "partition": pa.array([3]),
        "offset": pa.array([7]),
        "timestamp": pa.array([DAY_MS]),
        "key": pa.array([KEY_OF_GROUP]),
        "value": pa.array([None], pa.binary()),
    }
    file = tmp_path / "dump[1].parquet"  # The name has the characters of a glob.
    pq.write_table(pa.table(columns | {name: column}), file)

    (row,) = pa.Table.from_batches(Dump(str(file)).batches()).to_pylist()

    assert (row[read_as], row["reason"]) == (value, reason)


TYPES = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
    *(pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(38), pa.decimal256(76)),
    *(pa.bool_(), pa.string(), pa.large_string(), pa.string_view(), pa.binary()),
    *(pa.large_binary(), pa.binary_view(), pa.binary(8), pa.date32(), pa.date64()),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.null(), pa.uuid()),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "Asia/Tokyo")),
    *(pa.list_(pa.timestamp("us")), pa.large_list(pa.int8()), pa.list_(pa.int8(), 2)),
    *(pa.map_(pa.string(), pa.date64()), pa.struct([("a", pa.duration("s"))])),
    *(pa.dictionary(pa.int8(), each) for each in (pa.string(), pa.binary(), pa.int64())),
)
FILE = {
    "topic": pa.array(["__consumer_offsets"]),
    "partition": pa.array([3]),
    "offset": pa.array([7]),
    "timestamp": pa.array([DAY_MS]),
    "key": pa.array([KEY_OF_GROUP]),
    "value": pa.array([b"v"]),
}
INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
NUMBERS = INTEGERS | {"halffloat", "float", "double", "decimal128(38, 0)", "decimal256(76, 0)"}
TEXTS = {"string", "large_string", "string_view", "dictionary<values=string>"}
BYTES = {"binary", "large_binary", "binary_view", "fixed_size_binary[8]"}
BYTES |= {"dictionary<values=binary>"}
# Types from which a column is read; a value may still be out of range.
READ = {
    "topic": TEXTS | BYTES,
    "partition": NUMBERS | TEXTS | BYTES | {"dictionary<values=int64>"},
    "offset": NUMBERS | TEXTS | BYTES | {"dictionary<values=int64>"},
    "timestamp": NUMBERS | TEXTS | BYTES | {"dictionary<values=int64>"},
    "key": BYTES | TEXTS,
    "value": BYTES | TEXTS,
}


def name_of(of):
    return re.sub(r"<values=(\w+).*", r"<values=\1>", str(of))


def extremes(of):
    """Arrays of one value each: the least, the greatest and one in the middle."""
    if isinstance(of, pa.DictionaryType):
        return [each.dictionary_encode() for each in extremes(of.value_type)]
    if pa.types.is_nested(of):
        child = of.item_type if pa.types.is_map(of) else of.field(0).type
        inner = [extremes(child)[-1], extremes(child)[0]]
        return [_nested(of, pa.concat_arrays(inner))]
    if pa.types.is_null(of):
        return [pa.nulls(1)]
    if pa.types.is_decimal(of):
        return [pa.array([Decimal(f"{sign}{'9' * of.precision}")], of) for sign in "+-"]
    if pa.types.is_boolean(of):
        return [pa.array([True])]
    if of == pa.uuid():
        return [pa.array([bytes(16)], of)]
    if pa.types.is_fixed_size_binary(of):
        return [pa.array([b"12345678"], of)]
    if pa.types.is_floating(of):
        values = np.array([5, np.nan, np.inf, -np.inf, np.finfo(of.to_pandas_dtype()).max])
        return [pa.array(np.array([each], of.to_pandas_dtype())) for each in values]
    if pa.types.is_integer(of):
        limits = np.iinfo(of.to_pandas_dtype())
        return [pa.array([each], of) for each in (5, limits.min, limits.max)]
    if of.id in (pa.string().id, pa.large_string().id, pa.string_view().id):
        return [pa.array([each], of) for each in ("5", "", "9" * 5000, "é")]
    if of.id in (pa.binary().id, pa.large_binary().id, pa.binary_view().id):
        return [pa.array([each], of) for each in (b"5", b"", b"\xff" * 5000)]
    # The types are times, dates and durations.
    width = pa.int32() if of.bit_width == 32 else pa.int64()
    most = int(np.iinfo(width.to_pandas_dtype()).max)
    most = most // 86_400_000 * 86_400_000 if of == pa.date64() else most
    return [pa.array([n], width).view(of) for n in (86_400_000, -most, most)]


def _nested(of, values):
    if pa.types.is_struct(of):
        return pa.StructArray.from_arrays([values[:1]], fields=list(of))
    if pa.types.is_map(of):
        return pa.MapArray.from_arrays([0, 2], pa.array(["a", "b"]), values)
    if pa.types.is_fixed_size_list(of):
        return pa.FixedSizeListArray.from_arrays(values, 2)
    kind = pa.LargeListArray if pa.types.is_large_list(of) else pa.ListArray
    return kind.from_arrays([0, 2], values)


@pytest.mark.parametrize("of", TYPES, ids=str)
@pytest.mark.parametrize("name", list(FILE))
def test_a_column_with_extremes_of_a_type_stops_no_run(tmp_path, name, of):
    file = str(tmp_path / "dump.parquet")
    columns = {"topic": "topic", "partition": "partition", "offset": "log_offset"}
    columns |= {"timestamp": "time_ms", "key": "key", "value": "value"}
    rows = []
    for array in extremes(of):
        try:
            pq.write_table(pa.table(FILE | {name: array}), file)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue  # Parquet cannot store this value.
        (row,) = pa.Table.from_batches(Dump(file).batches()).to_pylist()
        rows.append(row)
        assert (row["reason"] is None) or name in row["reason"]
        if row["reason"] is None and not pa.types.is_null(of):
            is_time = name == "timestamp" and pa.types.is_timestamp(of)
            assert row[columns[name]] is not None
            assert is_time or name_of(of) in READ[name]
    assert rows


def test_a_file_that_is_no_dump_is_quarantined_beside_others(tmp_path):
    pq.write_table(pa.table(FILE), tmp_path / "b.parquet")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "c.json").write_bytes(b"plain text\n")

    rows = pa.Table.from_batches(Dump(str(tmp_path)).batches()).to_pylist()

    reasons = {row["file"].rsplit("/", 1)[1]: row["reason"] or "" for row in rows}
    assert reasons["b.parquet"] == ""
    assert reasons["a.parquet"].startswith("cannot be read as parquet: ")
    assert reasons["c.json"].startswith("no column for key and offset and partition")


def test_a_damaged_row_group_is_quarantined_and_the_others_are_read(tmp_path):
    offsets = np.arange(3000)
    columns = {name: pa.repeat(column[0], len(offsets)) for name, column in FILE.items()}
    file = tmp_path / "dump.parquet"
    table = pa.table(columns | {"offset": offsets})
    pq.write_table(table, file, row_group_size=1000, compression="zstd", use_dictionary=False)
    start = pq.ParquetFile(file).metadata.row_group(1).column(2).data_page_offset
    data = bytearray(file.read_bytes())
    data[start : start + 200] = bytes(200)
    file.write_bytes(data)

    rows = pa.Table.from_batches(Dump(str(file)).batches()).to_pylist()

    damaged = [row for row in rows if row["reason"]]
    assert [row["log_offset"] for row in rows if not row["reason"]] == [
        *range(1000),
        *range(2000, 3000),
    ]
    assert [row["position"] for row in damaged] == [1000]
    assert damaged[0]["reason"].startswith("rows 1000 to 1999 are damaged: ")


def at(time_ms):
    return datetime.fromtimestamp(time_ms / 1000, UTC)


OFFSETS_TOPIC = "__consumer_offsets"
RECORDS = [
    (OFFSETS_TOPIC, 3, 0, at(DAY_BEFORE_MS), KEY_OF_GROUP, None),
    (OFFSETS_TOPIC, 3, 1, at(DAY_MS), COMMIT, COMMITTED),
    (OFFSETS_TOPIC, 3, 1, at(DAY_MS), COMMIT, COMMITTED),
    (OFFSETS_TOPIC, 3, 2, at(DAY_MS), UNKNOWN, b"x"),
    (OFFSETS_TOPIC, 4, 0, None, KEY_OF_GROUP, None),
    ("orders", 3, 9, at(DAY_MS), b"k", b"v"),
    (OFFSETS_TOPIC, 3, None, at(DAY_MS), KEY_OF_GROUP, None),
]
COUNTS = [  # Each row: log, inputs, kept by date, quarantined, skipped, first and last offset.
    (None, 1, {}, 0, 1, 9, 9),
    ("__consumer_offsets-3", 5, {DAY_BEFORE: 1, DAY: 1}, 2, 1, 0, 2),
    ("__consumer_offsets-4", 1, {NO_TIME: 1}, 0, 0, 0, 0),
]


def rows_of(lake, name, *columns):
    return sorted(tuple(row[c] for c in columns) for row in lake.read(name).collect())


def counts(lake, where):
    columns = ("topic_partition", "inputs", "kept_by_date", "quarantined", "skipped",
               "first_offset", "last_offset")  # fmt: skip
    files = lake.read("ingested_files").where(where).select(*columns).collect()
    return sorted(map(tuple, files), key=lambda row: row[0] or "")


@pytest.mark.parametrize("format_", ["parquet", "delta"])
def test_every_record_once_and_counts_add_up(lake, tmp_path, format_):
    path = tmp_path / "dump"
    if format_ == "delta":
        write_deltalake(path, table(RECORDS))
    else:
        path.mkdir()
        pq.write_table(table(RECORDS), path / "a b+c.parquet")
    for dates in (DateRange(DAY, DAY), DateRange())[format_ == "delta" :]:
        run(lake, Inputs(dump=Dump(str(path)), dates=dates))

    columns = ("topic_partition", "log_offset", "event_date", "key_type", "key", "value", "source")
    assert rows_of(lake, "offsets_records", *columns) == [
        ("__consumer_offsets-3", 0, DAY_BEFORE, 2, KEY_OF_GROUP, None, "dump"),
        ("__consumer_offsets-3", 1, DAY, 1, COMMIT, COMMITTED, "dump"),
        ("__consumer_offsets-4", 0, NO_TIME, 2, KEY_OF_GROUP, None, "dump"),
    ]
    no_type = "Key: type at byte 0: no record type 99 is known"
    assert rows_of(lake, "quarantine", "log_offset", "reason", "bytes", "value") == [
        (-1, "offset None", KEY_OF_GROUP, None),
        (2, no_type, UNKNOWN, b"x"),
    ]
    assert counts(lake, "true") == COUNTS
    if format_ == "parquet":
        assert set(rows_of(lake, "offsets_records", "file")) == {(f"{path}/a b+c.parquet",)}
        assert rows_of(lake, "quarantine", "position") == [(3,), (6,)]
    assert broken_laws(lake.root)[1] == []


def test_every_record_once_also_with_times_in_another_zone(lake, tmp_path):
    for name, ahead_ms in (("utc", 0), ("elsewhere", 7_200_000)):
        records = [
            (OFFSETS_TOPIC, 3, n, at(DAY_MS + n + ahead_ms), COMMIT, COMMITTED) for n in range(3)
        ]
        (tmp_path / name).mkdir()
        pq.write_table(table(records), tmp_path / name / "0.parquet")
        run(lake, Inputs(dump=Dump(str(tmp_path / name))))

    assert rows_of(lake, "offsets_records", "log_offset") == [(0,), (1,), (2,)]


def test_records_of_segments_and_dump_once_after_a_run_killed_before_counting(lake, tmp_path):
    two_hours = 7_200_000
    records = [(OFFSETS_TOPIC, 3, n, at(DAY_MS + two_hours), COMMIT, COMMITTED) for n in range(3)]
    pq.write_table(table(records), tmp_path / "0.parquet")
    run(lake, Inputs(dump=Dump(str(tmp_path / "0.parquet"))))
    shutil.rmtree(lake.path("ingested_files"))
    segment = tmp_path / f"{OFFSETS_TOPIC}-3" / f"{0:020}.log"
    segment.parent.mkdir()
    segment.write_bytes(record_batch(0, 0, DAY_MS, [(COMMIT, COMMITTED)] * 3))

    run(lake, Inputs(segments=[str(segment)]))

    columns = ("log_offset", "source")
    assert rows_of(lake, "offsets_records", *columns) == [(n, "segments") for n in range(3)]


def test_a_folder_may_have_several_formats_and_column_names(lake, tmp_path):
    folder = tmp_path / "dumps"
    folder.mkdir()
    # Base64 and times as text, as in a table of strings.
    texts = [
        (OFFSETS_TOPIC, "3", "0", "2026-11-20 11:43:20", b64(KEY_OF_GROUP), None),
        (OFFSETS_TOPIC, "3", "1", str(DAY_MS), b64(COMMIT), b64(COMMITTED)),
        (OFFSETS_TOPIC, "3", "x", str(DAY_MS), b64(KEY_OF_GROUP), None),
        (OFFSETS_TOPIC, "3", "5", "noon", b64(KEY_OF_GROUP), None),
        (OFFSETS_TOPIC, "3", "6", str(DAY_MS), "no base64!", None),
    ]
    as_text = dict.fromkeys(("partition", "offset", "timestamp", "key", "value"), pa.string())
    pq.write_table(table(texts, **as_text), folder / "a.parquet")
    avro(folder / "b", [(KEY_OF_GROUP, None, 5, 0, DAY_MS)])
    kcat = {
        "topic": OFFSETS_TOPIC,
        "partition": 6,
        "offset": 2,
        "ts": DAY_MS,
        "key": b64(KEY_OF_GROUP),
    }
    (folder / "c").write_text(json.dumps(kcat | {"payload": None}) + "\nhalf a li")
    run(lake, Inputs(dump=Dump(str(folder))))

    columns = ("topic_partition", "log_offset", "event_date", "key", "value")
    assert rows_of(lake, "offsets_records", *columns) == [
        ("__consumer_offsets-3", 0, DAY_BEFORE, KEY_OF_GROUP, None),
        ("__consumer_offsets-3", 1, DAY, COMMIT, COMMITTED),
        ("__consumer_offsets-5", 0, DAY, KEY_OF_GROUP, None),
        ("__consumer_offsets-6", 2, DAY, KEY_OF_GROUP, None),
    ]
    assert rows_of(lake, "quarantine", "position", "log_offset", "reason") == [
        (2, -1, "offset x"),
        (3, 5, "timestamp noon"),
        (4, 6, "key is not base64"),
        (len(json.dumps(kcat | {"payload": None})) + 1, -1, "not a JSON object"),
    ]
    assert broken_laws(lake.root)[1] == []
