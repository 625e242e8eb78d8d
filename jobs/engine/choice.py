"""Chooses the engine of a command: Spark, or the embedded engine, which needs no Java.

``auto``, the default, chooses Spark under spark-submit, if the configuration names a cluster's
master, for tasks that only Spark can do, and above a size of input. docs/engines.md explains the
choice.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jobs.configuration.config import Config, Engine
from jobs.configuration.distributions import INSTALL_SPARK, NO_SPARK, has_spark
from jobs.console.errors import UsageError
from jobs.engine.jars import jars_folder

MIB = 1 << 20
# Stores in which both the embedded engine and delta-rs can read and write a lake.
EMBEDDED_STORES = {"file", "s3", "gs", "abfs", "abfss"}
INSTALL_JAVA = "install Java 17 (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME"
# Settings that provide Delta's jars without `regroup jars`.
JAR_SETTINGS = {"spark.jars", "spark.jars.packages"}


@dataclass(frozen=True)
class Workload:
    """The choice depends on the bytes of input, and on what only Spark can do, as the subject of a
    message such as "--kafka"; None: nothing.
    """

    input_bytes: int
    spark_only: str | None = None


def choose(config: Config, workload: Workload) -> Engine:
    """EMBEDDED or SPARK; prints a line if the input is too large for the embedded engine.

    Raises UsageError if the command needs Spark, and PySpark or Java is missing or the embedded
    engine was requested.
    """
    if config.engine is Engine.EMBEDDED and workload.spark_only:
        raise UsageError(f"--engine embedded: {workload.spark_only} needs --engine spark")
    if config.engine is Engine.EMBEDDED:
        return _embedded(config, workload)
    if reason := reason_for_spark(config, workload.spark_only):
        if not has_spark():
            raise UsageError(f"{reason} needs Spark, and {NO_SPARK}: {INSTALL_SPARK}")
        if java_program() is None and not is_submitted():
            raise UsageError(f"{reason} needs Spark, and there is no Java: {INSTALL_JAVA}")
        return Engine.SPARK
    if workload.input_bytes > config.embedded_limit_mib * MIB and not missing_for_spark(config):
        return Engine.SPARK
    return _embedded(config, workload)


def is_submitted() -> bool:
    """Returns whether this process runs under spark-submit."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def java_program() -> str | None:
    """The java that Spark would start: the java of JAVA_HOME, else the first on the path."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(f"{home}/bin/java" if home else "java")


def reason_for_spark(config: Config, spark_only: str | None) -> str | None:
    """The reason why a command of any size uses Spark, as the subject of a message, or None if it
    does not.

    ``spark_only``: see Workload.
    """
    master = config.spark.get("spark.master", "local")
    if config.engine is Engine.EMBEDDED:
        return None
    if config.engine is Engine.SPARK:
        return "--engine spark"
    if is_submitted():
        return "spark-submit"
    return spark_only if master.startswith("local") else f"spark.master = {master}"


def missing_for_spark(config: Config) -> str | None:
    """What Spark needs and this machine lacks, with the remedy, or None if nothing is missing."""
    if not has_spark():
        return NO_SPARK
    if java_program() is None:
        return f"no Java: {INSTALL_JAVA}"
    if JAR_SETTINGS & config.spark.keys() or any(jars_folder().glob("*delta-spark_*.jar")):
        return None
    return "no jars of Delta Lake: run `regroup jars`"


def _embedded(config: Config, workload: Workload) -> Engine:
    size_mib = workload.input_bytes // MIB
    if size_mib > config.embedded_limit_mib:
        print(
            f"regroup: {size_mib:,} MiB of input exceed embedded_limit_mib = "
            f"{config.embedded_limit_mib:,}: the embedded engine continues, but Spark is better "
            "for such sizes (--engine spark, with Java and `regroup jars`)",
            file=sys.stderr,
        )
    return Engine.EMBEDDED


def lake_only_for_spark(root: str) -> str | None:
    """A lake in a store that the embedded engine cannot use, as the subject of a message."""
    scheme, separator, _ = root.partition("://")
    return f"--lake {root}" if separator and scheme not in EMBEDDED_STORES else None


def bytes_of(paths: Iterable[str]) -> int:
    """The size of the files at these paths, and of all files below folders; 0 for what is missing.

    A path with :// is asked of its store.
    """
    return sum(map(_stored_bytes, paths))


def _stored_bytes(path: str) -> int:
    if "://" in path:
        return _bytes_in_store(path)
    here = Path(path)
    files = here.rglob("*") if here.is_dir() else [here]
    return sum(file.stat().st_size for file in files if file.is_file())


def _bytes_in_store(uri: str) -> int:
    from pyarrow import fs

    store, path = fs.FileSystem.from_uri(uri)
    info = store.get_file_info(path)
    if info.type == fs.FileType.File:
        return int(info.size)
    below = store.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    return sum(each.size or 0 for each in below)
