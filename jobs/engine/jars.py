"""Jars that Spark needs and its pip package lacks, Delta and the Kafka connector: `regroup jars`.

Every jar is listed with its version and its SHA-256, and only listed jars are fetched: Spark's own
jars cover the rest of their dependencies.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from jobs import __version__
from jobs.configuration.distributions import INSTALL_SPARK, NO_SPARK, has_spark
from jobs.configuration.packaged_files import CHECKOUT
from jobs.console.errors import RunFailed, UsageError

# Coordinates, and the SHA-256 of each jar.
DELTA = {
    "io.delta:delta-spark_4.2_2.13:4.4.0": (
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead"
    ),
    "io.delta:delta-storage:4.4.0": (
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"
    ),
    "io.delta:delta-kernel-api:4.4.0": (
        "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11"
    ),
    "io.delta:delta-kernel-defaults:4.4.0": (
        "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b"
    ),
    "io.delta:delta-kernel-unitycatalog:4.4.0": (
        "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa"
    ),
    "io.unitycatalog:unitycatalog-client:0.6.0": (
        "48257499a86b801a3e2372cec55ac226ca1c1c7eabe5c118e7302f29a1fdbc19"
    ),
    "io.unitycatalog:unitycatalog-hadoop:0.6.0": (
        "c47b63c961c87102b9e1d63809a0915ba4c86b7652f57c8d39ca3a05b441a150"
    ),
}
# Version 4.2.0 of the token provider cannot be resolved in every registry; 4.0.0 works as well.
KAFKA_CONNECTOR = {
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0": (
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705"
    ),
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0": (
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767"
    ),
    "org.apache.kafka:kafka-clients:3.9.2": (
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8"
    ),
    "org.apache.commons:commons-pool2:2.13.1": (
        "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f"
    ),
}
SPARK_JARS = DELTA | KAFKA_CONNECTOR
FOLDER_VARIABLE = "REGROUP_JARS"
# This file lists the coordinates of a folder whose jars are complete.
NOTE = ".resolved"


def jars_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """REGROUP_JARS, or .jars of a checkout, or a folder of this version in the user's cache."""
    if configured := environment.get(FOLDER_VARIABLE):
        return Path(configured).expanduser()
    if CHECKOUT is not None:
        return CHECKOUT / ".jars"
    return _user_cache(environment) / "regroup" / f"jars-{__version__}"


def _user_cache(environment: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def fetch_spark_jars() -> str:
    """Fetch missing jars; return a sentence that says where the jars are.

    Raises UsageError if PySpark is missing.
    """
    if not has_spark():
        raise UsageError(f"`regroup jars` is for Spark, and {NO_SPARK}: {INSTALL_SPARK}")
    folder = jars_folder()
    fetched = fetch(SPARK_JARS, folder)
    done = "fetched into" if fetched else "already in"
    return f"{len(SPARK_JARS)} jars {done} {folder}"


def fetch(pinned: Mapping[str, str], folder: Path) -> bool:
    """Make ``folder`` hold exactly these jars. Returns False if the folder is already complete.

    Raises RunFailed if the registry does not deliver them or delivers other files, UsageError for a
    folder that cannot be written.
    """
    if is_complete(pinned, folder):
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="regroup-jars-") as home:
            jars = [Path(jar) for jar in _resolve([*pinned], home)]
            _verify(jars, pinned)
            for jar in jars:
                _copy(jar, folder)
    except OSError as error:
        raise UsageError(
            f"jars: {folder}: {error.strerror}; set {FOLDER_VARIABLE} to another folder"
        ) from None
    for outdated in {*folder.glob("*.jar")} - {folder / jar.name for jar in jars}:
        outdated.unlink()
    (folder / NOTE).write_text("\n".join([*pinned, ""]), encoding="utf-8")
    return True


def is_complete(pinned: Mapping[str, str], folder: Path) -> bool:
    """Returns whether the last fetch into ``folder`` was of these jars, and they are unchanged."""
    note = folder / NOTE
    return (
        note.is_file()
        and note.read_text(encoding="utf-8").split() == [*pinned]
        and all(_sha256(folder / file_name(jar)) == pinned[jar] for jar in pinned)
    )


def _verify(jars: Sequence[Path], pinned: Mapping[str, str]) -> None:
    by_name = {file_name(jar): expected for jar, expected in pinned.items()}
    for jar in jars:
        if (actual := _sha256(jar)) != by_name.get(jar.name):
            raise RunFailed(
                f"jars: {jar.name} from the Maven registry is not the pinned file: its SHA-256 is"
                f" {actual}, expected {by_name.get(jar.name)}; check the registry or its mirror"
            )


def _sha256(file: Path) -> str | None:
    """Returns None for a missing file."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def file_name(coordinate: str) -> str:
    """The name that Spark's resolver gives to the file of a jar."""
    group, artifact, version = coordinate.split(":")
    return f"{group}_{artifact}-{version}.jar"


def _copy(jar: Path, folder: Path) -> None:
    """Copy under a temporary name first: another process may be fetching into the same folder."""
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as partial:
        pass
    shutil.copy(jar, partial.name)
    os.replace(partial.name, folder / jar.name)


def _resolve(coordinates: Sequence[str], home: str) -> list[str]:
    """Paths of exactly these jars, fetched by Spark's own Maven resolver to below ``home``.

    The user's home is not used: the resolver fails if Maven left a jar's POM there without its jar.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    try:
        quiet_jvm = {"stderr": subprocess.DEVNULL}
        jvm = launch_gateway(popen_kwargs=quiet_jvm).jvm  # type: ignore[no-untyped-call]  # pyspark
    except (PySparkRuntimeError, FileNotFoundError):
        raise UsageError("jars: Java does not start; install Java 17 or set JAVA_HOME") from None
    jvm.java.lang.System.setProperty("user.home", home)
    maven, none = jvm.org.apache.spark.util.MavenUtils, jvm.scala.Option.empty()
    quiet = jvm.java.io.PrintStream(jvm.java.io.OutputStream.nullOutputStream())
    no_exclusions = jvm.scala.collection.immutable.List.newBuilder().result()
    try:
        settings = maven.buildIvySettings(none, none, True, quiet)
        resolved = maven.resolveMavenCoordinates(
            ",".join(coordinates), settings, none, False, no_exclusions, False, quiet
        )
    except Py4JJavaError as error:
        reason = str(error.java_exception.getMessage()).splitlines()[0]
        raise RunFailed(
            f"jars: not delivered by the Maven registry ({reason}); check the network, or name"
            " a mirror in DEFAULT_ARTIFACT_REPOSITORY"
        ) from None
    jars = [resolved.apply(number) for number in range(resolved.size())]
    missing = {*map(file_name, coordinates)} - {Path(jar).name for jar in jars}
    if missing:
        raise RunFailed(f"jars: not in the Maven registry: {', '.join(sorted(missing))}")
    return jars
