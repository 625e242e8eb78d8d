"""Creates the class archive of Spark sessions on this machine; see `driver_jvm`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from jobs.configuration.config import load_config
from jobs.engine.choice import java_program
from jobs.engine.driver_jvm import ARCHIVE, JAVA_OPTIONS
from jobs.engine.jars import jars_folder

# Text that identifies the archive's origin: another Java or other jars need another archive.
NOTE = ".archived"
# Jobs that suffice to load Delta's reading and writing, Spark's planning and its Python workers.
RECORDED_JOBS = ("group_metadata", "timeline")
_TIMEOUT_S = 600


def archive_classes() -> str:
    """Create the archive in the jars' folder unless it fits; return a sentence about it.

    Sessions work without an archive, so failing to create one is not an error.
    """
    folder = jars_folder()
    try:
        written = _create(folder)
    except (OSError, subprocess.SubprocessError) as error:
        return f"no class archive, so Spark starts more slowly ({type(error).__name__})"
    return f"class archive {'written into' if written else 'already in'} {folder}"


def _create(folder: Path) -> bool:
    """Returns False if the folder's archive fits."""
    archive, note, content = folder / ARCHIVE, folder / NOTE, _content(folder)
    if archive.is_file() and note.is_file() and note.read_text(encoding="utf-8") == content:
        return False
    archive.unlink(missing_ok=True)  # The JVM that records an archive must not use an archive.
    with tempfile.TemporaryDirectory(dir=folder, prefix=".archive-") as partial:
        _record_in_new_process(Path(partial, ARCHIVE))
        Path(partial, ARCHIVE).replace(archive)
    note.write_text(content, encoding="utf-8")
    return True


def _content(folder: Path) -> str:
    """The text that the JVM compares before it uses an archive: its own build, and each jar."""
    java = [java_program() or "java", "-version"]
    build = subprocess.run(java, capture_output=True, check=True, text=True).stderr
    stats = ((jar.name, jar.stat()) for jar in sorted(folder.glob("*.jar")))
    jars = (f"{name} {stat.st_size} {stat.st_mtime_ns}\n" for name, stat in stats)
    return f"{build}pyspark {version('pyspark')}\n{''.join(jars)}"


def _record_in_new_process(archive: Path) -> None:
    command = [sys.executable, "-m", __name__, str(archive)]
    subprocess.run(command, capture_output=True, check=True, timeout=_TIMEOUT_S)


def record(archive: str) -> None:
    """Run RECORDED_JOBS on an empty lake in a JVM that archives its classes when it ends."""
    # Import here, because these modules import Spark's session.
    from jobs.engine.session import build_session
    from jobs.lake.opening import open_lake
    from jobs.lake.scope import AllDates
    from jobs.nightly_run.pipeline import Progress, run_all

    config = load_config(None)
    options = f"{config.spark[JAVA_OPTIONS]} -XX:ArchiveClassesAtExit={archive}"
    session = build_session(replace(config, spark={**config.spark, JAVA_OPTIONS: options}))
    with tempfile.TemporaryDirectory() as root:
        run_all(AllDates(open_lake(session, root, "none")), Progress(), RECORDED_JOBS)
    session.stop()
    _end_jvm()


def _end_jvm() -> None:
    """End the JVM as the end of its process would, and wait until it has written the archive."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    record(sys.argv[1])
