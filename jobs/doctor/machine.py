"""Check the machine: Java, memory and cores, space for Spark's temporary files, time zone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from coordinator_core.figures import counted
from jobs.configuration.config import Config, valid_timezone
from jobs.console.errors import UsageError
from jobs.doctor.results import CheckResult, failure, ok, warning
from jobs.engine.free_memory import free_memory

OLDEST_JAVA = 17  # for Spark 4
GIB = 1 << 30
# Memory needed besides the driver's heap: the JVM's own memory, and Python workers (0.5 GiB
# measured for two).
BESIDES_HEAP = GIB
LEAST_SCRATCH = GIB
_JAVA_LIMIT_S = 30
_UNITS = {"": 1 << 20, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)


def java() -> CheckResult:
    """Check the java that Spark would start: the java of JAVA_HOME, else the first on the path."""
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java")
    install = "install a JRE (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME"
    if program is None:
        return failure("java", "no java on the path, and JAVA_HOME is not set", install)
    try:
        answer = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=_JAVA_LIMIT_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        return failure("java", f"{program} does not start: {error}", install)
    version = java_version(answer.stderr + answer.stdout)
    if version is None:
        return failure("java", f"{program} -version prints no version", install)
    if version < OLDEST_JAVA:
        return failure("java", f"{program} is Java {version}, Spark needs {OLDEST_JAVA}", install)
    return ok("java", f"Java {version}, {program}")


def java_version(output: str) -> int | None:
    """17 for `version "17.0.15"`, 8 for `version "1.8.0_402"`."""
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else None


def memory(config: Config) -> CheckResult:
    """Check that Spark's heap and Python workers fit into the free memory."""
    cores = _core_count()
    cores_text = counted(cores, "core")
    free = free_memory()
    if free is None:
        return ok("memory", f"{cores_text}; cannot determine free memory")
    text = f"{free / GIB:.1f} GiB free, {cores_text}"
    if not config.spark.get("spark.master", "local").startswith("local"):
        return ok("memory", f"{text}; jobs run on {config.spark['spark.master']}")
    heap = size_bytes(config.spark.get("spark.driver.memory", "1g"))
    if heap is None:
        setting = config.spark["spark.driver.memory"]
        return failure("memory", f"spark.driver.memory is {setting!r}", 'give a size such as "2g"')
    text += f"; Spark's heap may take {heap / GIB:.1f} GiB"
    remedy = "lower spark.driver.memory under [spark], or free some memory"
    if free < heap:
        return failure("memory", text, remedy)
    if free < heap + BESIDES_HEAP:
        return warning("memory", f"{text}, and Python workers need additional memory", remedy)
    return ok("memory", text)


def size_bytes(text: str) -> int | None:
    """Bytes of one of Spark's memory sizes; a number without a unit is in MiB."""
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * _UNITS[match[2].lower()] if match else None


def _core_count() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # Some systems lack this function.
        return os.cpu_count() or 1


def scratch(config: Config) -> CheckResult:
    """Check the folder for the data that Spark cannot keep in memory."""
    setting = os.environ.get("SPARK_LOCAL_DIRS") or config.spark.get("spark.local.dir")
    folder = setting.split(",")[0] if setting else tempfile.gettempdir()
    remedy = "free some space there, or set another folder: spark.local.dir under [spark]"
    try:
        free = free_bytes(folder)
    except OSError as error:
        return failure("scratch", f"{folder} cannot be written: {error.strerror}", remedy)
    text = f"{free / GIB:.1f} GiB free in {folder} for Spark's temporary files"
    return ok("scratch", text) if free >= LEAST_SCRATCH else warning("scratch", text, remedy)


def free_bytes(folder: str) -> int:
    """Free bytes of a folder; raises OSError if a temporary file cannot be written there."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"regroup")
        file.flush()
    return shutil.disk_usage(folder).free


def time_zone(name: str) -> CheckResult:
    """Compare the configured zone of log lines with this machine's: brokers often share it."""
    try:
        zone = ZoneInfo(valid_timezone(name))
    except UsageError as error:
        return failure("time zone", str(error), "correct --log-timezone, or timezone under [logs]")
    now = datetime.now(UTC)
    local = now.astimezone()
    text = f"log lines without a zone are read as {name}"
    if local.utcoffset() == now.astimezone(zone).utcoffset():
        return ok("time zone", text)
    return warning(
        "time zone",
        f"{text}, but this machine's clock shows {local:%Z (%z)}",
        "if the brokers' clocks show this time, too, give --log-timezone, or timezone under [logs]",
    )
