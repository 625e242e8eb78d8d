"""The embedded engine: Sail runs the same PySpark job functions in this process, without a JVM.

Sail speaks Spark Connect's protocol on a loopback port.  While `SPARK_CONNECT_MODE` is set,
PySpark's functions build Connect's columns: a process uses one engine at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from jobs.engine.free_memory import free_memory
from jobs.engine.scratch import scratch_folder

if TYPE_CHECKING:
    from pysail.spark import SparkConnectServer
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
    from pyspark.sql.connect.session import SparkSession as ConnectSession

SPARK_CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
# Threads that start runs at the same time share one server.
_STARTING = Lock()
# For error messages, PySpark looks up the caller of each column function, which takes half of the
# time in which Python makes a plan.
WITHOUT_CALL_SITES = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
SETTINGS = {"spark.sql.session.timeZone": "UTC", **WITHOUT_CALL_SITES}
# Do not compress results on the loopback interface, because gzip takes more time than the rest of a
# transfer.  Bit 0 is the algorithm "identity".
CHANNEL_OPTIONS = {"grpc.compression_enabled_algorithms_bitset": 1}
# While a channel is open, gRPC's fork handlers end one in twelve child processes before they start
# their program.  PySpark's JVM is such a child process.  Child processes of this process call no
# gRPC.
FORK_SUPPORT = "GRPC_ENABLE_FORK_SUPPORT"
# Settings of Sail; environment variables of these names have priority.
SAIL = {
    # The only Parquet files that Sail writes are temporary (`jobs.engine.keeping`).
    "SAIL_PARQUET__COMPRESSION": "lz4_raw",
    "SAIL_PARQUET__DICTIONARY_ENABLED": "false",
    "SAIL_PARQUET__STATISTICS_ENABLED": "none",
    # Sorts and aggregations spill to disk when the memory pool is used up; other operators fail. Do
    # not use the fair pool: it gives each of a plan's many sorts less than a batch needs.
    "SAIL_RUNTIME__MEMORY_POOL__TYPE": "greedy",
}
POOL_SIZE = "SAIL_RUNTIME__MEMORY_POOL__GREEDY__MAX_SIZE"
# The pool gets this share of the free memory.  Reading, Python and delta-rs use memory outside of
# the pool.
POOL_SHARE = 0.5


def embedded_session() -> SparkSession:
    """A session of this process's embedded engine, which is started on the first call."""
    os.environ[SPARK_CONNECT_MODE] = "1"
    os.environ.setdefault(FORK_SUPPORT, "0")
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    with _STARTING:
        host, port = _server().listening_address
    channel = DefaultChannelBuilder(f"sc://{host}:{port}")
    for option, number in CHANNEL_OPTIONS.items():
        channel.setChannelOption(option, number)
    session = ConnectSession.builder.channelBuilder(channel).getOrCreate()
    # A server in this process does not return after a failure, so do not retry.
    session.client.set_retry_policies([])
    # Connections within this process lose nothing, so omit calls that attach to a plan again.
    session.client.disable_reattachable_execute()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return cast(SparkSession, session)


@cache
def _server() -> SparkConnectServer:
    os.environ.setdefault("RUST_LOG", "error")
    free = free_memory()
    pool = {} if free is None else {POOL_SIZE: str(int(POOL_SHARE * free))}
    for name, value in (SAIL | pool).items():
        os.environ.setdefault(name, value)
    os.environ["TMPDIR"] = str(scratch_folder())  # Sail and delta-rs spill rows to this folder.
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer(ip="127.0.0.1", port=0)
    server.start(background=True)
    return server


def reconnect(session: SparkSession) -> None:
    """Give the session a new channel to its server: a gRPC call that ended by an exception, such as
    Ctrl-C, may hold the old channel's lock, and the next call would wait forever.
    """
    from pyspark.sql.connect.proto import SparkConnectServiceStub

    client = cast("ConnectSession", session).client
    client._channel = client._builder.toChannel()
    client._stub = SparkConnectServiceStub(client._channel)  # type: ignore[no-untyped-call]


def is_embedded(session: SparkSession) -> bool:
    return "connect" in type(session).__module__


def with_schema(rows: DataFrame, schema: StructType) -> DataFrame:
    """The same frame with this schema, so that the embedded engine is not asked for the schema:
    each such request plans the whole query.
    """
    if is_embedded(rows.sparkSession):
        cast("ConnectFrame", rows)._cached_schema = schema
    return rows


def batches_of(rows: DataFrame) -> pa.RecordBatchReader:
    """The rows of a frame of the embedded engine, as they arrive."""
    from pyspark.sql.pandas.types import to_arrow_schema

    frame = cast("ConnectFrame", rows)
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    client = frame._session.client
    parts = client.to_table_as_iterator(frame._plan.to_proto(client), frame._plan.observations)
    tables = (part for part in parts if isinstance(part, pa.Table))
    return pa.RecordBatchReader.from_batches(schema, _batches(tables, schema))


def _batches(tables: Iterator[pa.Table], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for table in tables:
        yield from table.cast(schema).to_batches()
