"""Hive's metastore server, of the Hive version in Spark's jars, behind Spark's Thrift server."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

from tools.kafka_broker import free_ports, is_answering
from tools.sql_engines.rows import Rows
from tools.sql_engines.server import running
from tools.sql_engines.spark_thrift import SPARK, answers_with

SERVER = "org.apache.hadoop.hive.metastore.HiveMetaStore"
# The server creates its tables in Derby at its first start.
CONF = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:;databaseName={work}/hive-metastore;create=true",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.async.log.enabled": "false",  # This needs a library that Spark lacks.
    "hive.metastore.schema.verification": "false",
    "hive.metastore.warehouse.dir": "{work}/hive-warehouse",
}
NEEDS_ROOT = "hive: run it as root; the server listens on all interfaces of its network"
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def answers(lake: Path, work: Path, statements: Mapping[str, str]) -> dict[str, Rows | str]:
    """The process gets a network of its own: this Hive listens on all interfaces."""
    own = work / "with-hive"
    own.mkdir()
    leave_the_network()
    (port,) = free_ports(1)
    connection = {"spark.hadoop.hive.metastore.uris": f"thrift://127.0.0.1:{port}"}
    with running(_server(port, own), own / "hive.log", os.environ, lambda _: is_answering(port)):
        return answers_with(connection, lake, own, statements)


def leave_the_network() -> None:
    """From now on, this process and its children have a loopback interface and no other."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise SystemExit(f"{NEEDS_ROOT} ({os.strerror(ctypes.get_errno())})")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def _server(port: int, work: Path) -> list[str]:
    settings = [f"{name}={value.format(work=work)}" for name, value in CONF.items()]
    options = [word for setting in settings for word in ("--hiveconf", setting)]
    return ["java", "-cp", f"{SPARK}/jars/*", SERVER, "-p", str(port), *options]
