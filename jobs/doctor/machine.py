"""The machine: Java, memory and cores, room for Spark's temporary files, time zone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from jobs.command_line.config import Config, known_timezone
from jobs.console.errors import UsageError
from jobs.doctor.finding import Finding, failure, ok, warning

OLDEST_JAVA = 17  # that Spark 4 runs on
GIB = 1 << 30
# Besides the driver's heap: the JVM's own memory, and Python workers (0.5 GiB measured for two).
BESIDES_HEAP = GIB
LEAST_SCRATCH = GIB
_ANSWER_LIMIT_S = 30
_UNITS = {"": 1 << 20, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)


def java() -> Finding:
    """The java that Spark would start: JAVA_HOME's, else the first on the path."""
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java")
    install = "install a JRE (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME"
    if program is None:
        return failure("java", "none on the path, and no JAVA_HOME", install)
    try:
        answer = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=_ANSWER_LIMIT_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        return failure("java", f"{program} does not start: {error}", install)
    version = java_version(answer.stderr + answer.stdout)
    if version is None:
        return failure("java", f"{program} -version names no version", install)
    if version < OLDEST_JAVA:
        return failure("java", f"{program} is Java {version}, Spark needs {OLDEST_JAVA}", install)
    return ok("java", f"Java {version}, {program}")


def java_version(said: str) -> int | None:
    """17 of `version "17.0.15"`, 8 of `version "1.8.0_402"`."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def memory(config: Config) -> Finding:
    cores = _cores()
    here = f"{cores} core{'s' if cores > 1 else ''}"
    free = _free_memory()
    if free is None:
        return ok("memory", f"{here}; how much memory is free is not to be found out here")
    found = f"{free / GIB:.1f} GiB free, {here}"
    if not config.spark.get("spark.master", "local").startswith("local"):
        return ok("memory", f"{found}; jobs run on {config.spark['spark.master']}")
    heap = size_bytes(config.spark.get("spark.driver.memory", "1g"))
    if heap is None:
        said = config.spark["spark.driver.memory"]
        return failure("memory", f"spark.driver.memory is {said!r}", 'write a size such as "2g"')
    found += f"; Spark's heap may take {heap / GIB:.1f} GiB"
    remedy = "lower spark.driver.memory under [spark], or free some memory"
    if free < heap:
        return failure("memory", found, remedy)
    if free < heap + BESIDES_HEAP:
        return warning("memory", f"{found}, and Python workers some more", remedy)
    return ok("memory", found)


def size_bytes(text: str) -> int | None:
    """Bytes of a size as Spark reads one for memory: a bare number counts MiB."""
    found = _SIZE.fullmatch(text.strip())
    return int(found[1]) * _UNITS[found[2].lower()] if found else None


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _free_memory() -> int | None:
    """Bytes that can be had: of the machine, or of the container where that has less."""
    free = _container_memory()
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free.append(int(line.split()[1]) * 1024)
    except OSError:
        pass
    return min(free, default=None)


def _container_memory() -> list[int]:
    groups = Path("/sys/fs/cgroup")
    for limit, used in (
        (groups / "memory.max", groups / "memory.current"),
        (groups / "memory/memory.limit_in_bytes", groups / "memory/memory.usage_in_bytes"),
    ):
        try:
            return [max(0, int(limit.read_text()) - int(used.read_text()))]
        except (OSError, ValueError):  # not there, or the word "max"
            continue
    return []


def scratch(config: Config) -> Finding:
    """Where Spark puts what does not fit into memory."""
    told = os.environ.get("SPARK_LOCAL_DIRS") or config.spark.get("spark.local.dir")
    folder = told.split(",")[0] if told else tempfile.gettempdir()
    remedy = "make room there, or name another folder: spark.local.dir under [spark]"
    try:
        free = room(folder)
    except OSError as error:
        return failure("scratch", f"{folder} cannot be written: {error.strerror}", remedy)
    found = f"{free / GIB:.1f} GiB free in {folder} for Spark's temporary files"
    return ok("scratch", found) if free >= LEAST_SCRATCH else warning("scratch", found, remedy)


def room(folder: str) -> int:
    """Free bytes of a folder that can be written, tried by a file without a name; OSError."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"regroup")
        file.flush()
    return shutil.disk_usage(folder).free


def time_zone(name: str) -> Finding:
    """Whether log lines are read in this machine's zone, where brokers often are, too."""
    try:
        zone = ZoneInfo(known_timezone(name))
    except UsageError as error:
        return failure("time zone", str(error), "correct --log-timezone, or timezone under [logs]")
    now = datetime.now(UTC)
    here = now.astimezone()
    found = f"log lines that name no zone are read as {name}"
    if here.utcoffset() == now.astimezone(zone).utcoffset():
        return ok("time zone", found)
    return warning(
        "time zone",
        f"{found}, and this machine's clock shows {here:%Z (%z)}",
        "if the brokers' clocks do, too, give --log-timezone, or timezone under [logs]",
    )
