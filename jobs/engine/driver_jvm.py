"""The JVM of a Spark session on this machine: its class path, class archive and quiet start.

A class archive holds the classes of Java, Spark and Delta in the form that the JVM maps into
memory; without one, each session reads and verifies some 17,000 classes from their jars.
`regroup jars` creates it.  The JVM ignores an archive of another Java version or of other jars.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from pyspark import SparkConf
from pyspark.sql import SparkSession

from jobs.configuration.packaged_files import CONF
from jobs.console.secrets import is_secret
from jobs.engine.scratch import scratch_folder

# The embedded engine runs on the client of Spark Connect, which lacks this attribute.
if TYPE_CHECKING:
    from pyspark import SparkContext

ARCHIVE = "classes.jsa"
CLASS_PATH = "spark.driver.extraClassPath"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# Options for the JVM's own messages.  An archive that does not fit causes only a warning.
_ERRORS_ONLY = ("-Xlog:disable", "-Xlog:all=error:stderr")
# PySpark asks the JVM whether these members of classes exist before each use of them.
_USED_OFTEN = {
    "functions": ("col", "lit"),
    "org.apache.spark.sql.functions": ("coalesce", "col", "expr", "lit", "struct", "when"),
    "PythonUtils": ("toSeq",),
}
# Lines that Java and Spark print on every start.
_START_MESSAGES = (
    b"WARNING: Using incubator modules: ",
    b"Setting default log level to ",
    b"To adjust logging level use ",
    # Amazon's library for S3 has a copy of SLF4J without a logger.
    b'SLF4J: Failed to load class "org.slf4j.impl.StaticLoggerBinder"',
    b"SLF4J: Defaulting to no-operation (NOP) logger implementation",
    b"SLF4J: See http://www.slf4j.org/codes.html#StaticLoggerBinder",
)


def is_local(settings: Mapping[str, str]) -> bool:
    """Returns whether the driver is the only process of the session."""
    return _is_local(settings.get("spark.master", ""))


def is_local_master(context: SparkContext) -> bool:
    """Returns whether the driver is the only process of the session."""
    return _is_local(context.master or "")


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def driver_settings(
    settings: Mapping[str, str], jars: Iterable[str], folder: Path
) -> dict[str, str]:
    """Spark's settings of a local session with these jars; ``folder`` may have an archive.

    The jars are on the class path, not in ``spark.jars``, because the JVM archives the classes of
    its own class path.
    """
    # A killed JVM leaves its temporary files: a later run deletes this folder.
    temporary = f"-Djava.io.tmpdir={scratch_folder()}"
    quiet = f"-Dlog4j2.configurationFile={CONF / 'log4j2.properties'}"
    archive = folder / ARCHIVE
    archived = [f"-XX:SharedArchiveFile={archive}"] if archive.is_file() else []
    options = [temporary, settings.get(JAVA_OPTIONS, ""), quiet, *_ERRORS_ONLY, *archived]
    paths = [settings.get(CLASS_PATH, ""), *jars]
    return {
        "spark.local.dir": settings.get("spark.local.dir", str(scratch_folder())),
        JAVA_OPTIONS: " ".join(filter(None, options)),
        CLASS_PATH: os.pathsep.join(filter(None, paths)),
    }


def has_private_settings(settings: Mapping[str, str]) -> bool:
    """Returns whether a setting may be a secret."""
    return public_settings(settings).keys() < settings.keys()


def public_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that may be arguments of a process, which every user of the machine can read."""
    return {name: value for name, value in settings.items() if not _is_private(name)}


def _is_private(name: str) -> bool:
    """Returns whether it may be a secret: a setting of a file system, or a name that says so."""
    return name.startswith("spark.hadoop.") or is_secret(name)


def start_jvm(settings: Mapping[str, str]) -> None:
    """Start the JVM of the process's sessions unless it runs; on stderr, only errors.

    Settings are arguments of the JVM, except private settings, which the session gets over its
    connection.
    """
    from pyspark import SparkContext, java_gateway

    if SparkContext._gateway is not None:
        return
    conf = SparkConf(loadDefaults=False).setAll(list(public_settings(settings).items()))
    messages, stderr = os.pipe()
    Thread(target=_print_messages, args=(messages,), daemon=True).start()
    try:
        with _temporary_files_in(scratch_folder()):
            launch: Any = java_gateway.launch_gateway
            gateway = launch(conf, {"stderr": stderr})
        SparkContext._ensure_initialized(gateway=gateway)
    finally:
        os.close(stderr)  # The JVM has its own copy of the descriptor.


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """If the process is killed in the meantime, a later run deletes the files."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def forget_ended_jvm() -> None:
    """If the JVM of the process's session has ended, forget both, so that another JVM and session
    can be started.
    """
    from pyspark import SparkContext

    # spark-submit's process is a child of the JVM, and has no JVM process of its own.
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None or process.poll() is None:
        return
    if context := SparkContext._active_spark_context:
        context._jsc = None  # Otherwise `stop` would ask the JVM to end.
        context.stop()
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def keep_members(context: SparkContext) -> None:
    """Keep the members of _USED_OFTEN, so that PySpark finds them without asking the JVM, which is
    two of three requests for a column."""
    jvm = context._jvm
    for name, members in _USED_OFTEN.items():
        java_class = getattr(jvm, name)
        for member in members:
            setattr(java_class, member, getattr(java_class, member))
        setattr(jvm, name, java_class)


def print_no_lost_connections(context: SparkContext) -> None:
    """When the JVM ends, calls fail; a stack trace of the server of accumulators would add no
    information.
    """
    context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]


def _print_messages(pipe: int) -> None:
    with os.fdopen(pipe, "rb") as lines:
        for line in lines:
            if not line.startswith(_START_MESSAGES):
                os.write(2, line)
