"""Jars that Spark needs and its pip package lacks, Delta and the Kafka connector: `regroup jars`.

Every jar is listed with its version, and only listed jars are fetched: Spark's own jars cover the
rest of their dependencies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from jobs import __version__
from jobs.command_line.packaged_files import CHECKOUT
from jobs.console.errors import RunFailed, UsageError

DELTA = (
    "io.delta:delta-spark_4.2_2.13:4.4.0",
    "io.delta:delta-storage:4.4.0",
    "io.delta:delta-kernel-api:4.4.0",
    "io.delta:delta-kernel-defaults:4.4.0",
    "io.delta:delta-kernel-unitycatalog:4.4.0",
    "io.unitycatalog:unitycatalog-client:0.6.0",
    "io.unitycatalog:unitycatalog-hadoop:0.6.0",
)
# Version 4.2.0 of the token provider cannot be resolved in every registry; 4.0.0 works as well.
KAFKA_CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
SPARK_JARS = DELTA + KAFKA_CONNECTOR
FOLDER_VARIABLE = "REGROUP_JARS"
# Lists the coordinates of a folder whose jars are complete.
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
    """Fetch missing jars; return a sentence that says where the jars are."""
    folder = jars_folder()
    fetched = fetch(SPARK_JARS, folder)
    done = "fetched into" if fetched else "already in"
    return f"{len(SPARK_JARS)} jars {done} {folder}"


def fetch(coordinates: Sequence[str], folder: Path) -> bool:
    """Make ``folder`` hold exactly these jars; False if it already does.

    RunFailed if the registry does not deliver them, UsageError for a folder that cannot be written.
    """
    if is_complete(coordinates, folder):
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="regroup-jars-") as home:
            jars = [Path(jar) for jar in _resolve(coordinates, home)]
            for jar in jars:
                _copy(jar, folder)
    except OSError as error:
        raise UsageError(
            f"jars: {folder}: {error.strerror}; name another folder in {FOLDER_VARIABLE}"
        ) from None
    for outdated in {*folder.glob("*.jar")} - {folder / jar.name for jar in jars}:
        outdated.unlink()
    (folder / NOTE).write_text("\n".join([*coordinates, ""]), encoding="utf-8")
    return True


def is_complete(coordinates: Sequence[str], folder: Path) -> bool:
    """Whether the last fetch into ``folder`` was of these coordinates, and its jars are sound."""
    note = folder / NOTE
    return (
        note.is_file()
        and note.read_text(encoding="utf-8").split() == [*coordinates]
        and all(zipfile.is_zipfile(folder / file_name(each)) for each in coordinates)
    )


def file_name(coordinate: str) -> str:
    """The name that Spark's resolver gives to a jar."""
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
            f"jars: the Maven registry does not deliver them ({reason}); check the network, or name"
            " a mirror in DEFAULT_ARTIFACT_REPOSITORY"
        ) from None
    jars = [resolved.apply(number) for number in range(resolved.size())]
    missing = {*map(file_name, coordinates)} - {Path(jar).name for jar in jars}
    if missing:
        raise RunFailed(f"jars: not in the Maven registry: {', '.join(sorted(missing))}")
    return jars
