"""Runs nightly on YARN with the lake in HDFS, and in one process, and compares the tables.

    python -m tools.yarn [INCIDENT]

YARN (two nodes) and HDFS are Hadoop's mini clusters on loopback, built by ``tools/yarn/pom.xml``.
spark-submit of the pip package runs nightly once in client mode and once in cluster mode; the
driver in a container and the workers get the project by ``--py-files`` only.  Exit 1 if a table
differs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.package import build_spark_zip
from tools.standalone_cluster import (
    INCIDENT,
    ROOT,
    SPARK_BIN,
    arguments,
    differences,
    run,
    without_this_tree,
)

CLASSES = ROOT / "build" / "yarn" / "lib"
QUIET = f"-Dlog4j2.configurationFile={ROOT / 'conf' / 'log4j2.properties'}"
LOG_CHARACTERS = 4000
LOOPBACK = "127.0.0.1"
MODES = ("client", "cluster")


def main() -> int:
    incident = Path(sys.argv[1]) if len(sys.argv) > 1 else INCIDENT
    with tempfile.TemporaryDirectory(prefix="regroup-yarn-") as folder:
        work = Path(folder)
        package = build_spark_zip(work / "regroup.zip")
        with mini_clusters(work) as file_system:
            for mode in MODES:
                nightly = arguments(incident.resolve(), Path("/lakes") / mode)
                began = time.monotonic()
                with container_logs(work):
                    run(*submit_line(mode, package, work, nightly, file_system), cwd=work)
                print(f"YARN, {mode} mode: {time.monotonic() - began:.0f} s", flush=True)
            run(*copy_line(f"{file_system}/lakes", work), cwd=work)
        local = [ROOT / ".venv/bin/regroup", "nightly", *arguments(incident, work / "local")]
        run(local, os.environ)
        return max(print_differences(work, mode) for mode in MODES)


def print_differences(work: Path, mode: str) -> int:
    print(f"\n{mode} mode")
    return differences(str(work / "local"), str(work / "lakes" / mode))


@contextmanager
def mini_clusters(work: Path) -> Iterator[str]:
    """Start YARN and HDFS, and stop them at exit; the file system's URI.

    Their addresses for clients are in the folder ``conf``.
    """
    conf, log = work / "conf", work / "mini-clusters.log"
    conf.mkdir()
    command = ["java", "-Xmx512m", "-cp", f"{CLASSES}/*", "regroup.yarn.Main", str(work), str(conf)]
    with log.open("wb") as err:
        process = subprocess.Popen(
            command, cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True
        )
    try:
        yield ready(process, log)
    finally:
        process.terminate()
        process.wait()


def ready(process: subprocess.Popen[str], log: Path) -> str:
    """Wait for the line "ready" and the file system's URI."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("ready "):
            return line.split()[1]
    raise SystemExit(f"{log.name}: did not start: {log.read_text('utf-8', 'replace')[-2000:]}")


@contextmanager
def container_logs(work: Path) -> Iterator[None]:
    """Print the end of each container's output if the run fails: the folder is deleted at exit."""
    try:
        yield
    except SystemExit:
        for log in sorted(work.glob("target/**/container_*/std*")):
            print(f"\n{log}:\n{log.read_text('utf-8', 'replace')[-LOG_CHARACTERS:]}")
        raise


def submit_line(
    mode: str, package: Path, work: Path, nightly: list[str], file_system: str
) -> tuple[list[str], dict[str, str]]:
    """The spark-submit command of the documentation, sized for two cores, and its environment."""
    python = str(without_this_tree(work / "python"))
    in_containers = {
        "PYSPARK_PYTHON": python,
        "JAVA_HOME": java_home(),
        # In cluster mode, the driver would otherwise listen on the network.
        "SPARK_LOCAL_IP": LOOPBACK,
    }
    settings = {
        # The containers use the jars of this installation instead of a copy in HDFS.
        "spark.yarn.jars": f"local:{SPARK_BIN.parent / 'jars'}/*",
        # The containers use Delta's jars from `regroup jars`.
        "spark.jars.packages": "",
        "spark.jars": ",".join(map(str, sorted((ROOT / ".jars").glob("*.jar")))),
        "spark.executor.instances": "2",
        "spark.executor.memory": "1g",
        "spark.driver.memory": "1g",
        "spark.yarn.am.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    for name, value in in_containers.items():
        settings |= {f"spark.yarn.appMasterEnv.{name}": value, f"spark.executorEnv.{name}": value}
    if mode == "client":
        settings["spark.driver.host"] = LOOPBACK
    lake = nightly.index("--lake") + 1
    nightly = [*nightly[:lake], file_system + nightly[lake], *nightly[lake + 1 :]]
    conf = ROOT / "conf" / "cluster.toml"
    command = [
        SPARK_BIN / "spark-submit", "--master", "yarn", "--deploy-mode", mode,
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        "--properties-file", ROOT / "conf" / "spark-defaults.conf", "--py-files", package,
        "--files", conf, ROOT / "jobs" / "nightly.py",
        "--conf", conf if mode == "client" else conf.name, *nightly,
    ]  # fmt: skip
    return list(map(str, command)), environment(work) | {"PYSPARK_PYTHON": python}


def copy_line(uri: str, target: Path) -> tuple[list[str], dict[str, str]]:
    """Copy a folder of HDFS to the local disk, with Hadoop's shell in the pip package's jars."""
    command = [str(SPARK_BIN / "spark-class"), "org.apache.hadoop.fs.FsShell", "-get", uri]
    return [*command, str(target)], environment(work=target)


def environment(work: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HADOOP_CONF_DIR": str(work / "conf"),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_SUBMIT_OPTS": QUIET,
    }


def java_home() -> str:
    """The Java of this machine's ``java``; containers have no other."""
    java = os.environ.get("JAVA_HOME") or shutil.which("java")
    if java is None:
        raise SystemExit("no Java: install Java 17, or set JAVA_HOME")
    path = Path(java).resolve()
    return str(path if "JAVA_HOME" in os.environ else path.parent.parent)


if __name__ == "__main__":
    sys.exit(main())
