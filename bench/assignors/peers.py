"""Assignors of other programs: builds them under build/ and times them."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
JAVA = ROOT / "build" / "assignors" / "assignors.jar"
FRANZ_GO = ROOT / "build" / "assignors-peers" / "franz-go"
PYTHON = ROOT / "build" / "assignors-peers" / "venv" / "bin" / "python"
FRANZ_GO_VERSION = "v1.22.2"
KAFKA_PYTHON_VERSION = "3.0.12"

ASSIGNORS_OF = {
    "Java": ["range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "server-range"],
    "Java, sets by id": ["uniform", "server-range"],
    "franz-go": ["range", "roundrobin", "sticky"],
    "kafka-python": ["range", "roundrobin", "sticky"],
}


def build() -> None:
    """Builds all peers; needs Maven, Go and Python's venv, with access to their registries."""
    pom = ROOT / "tools" / "assignor_differential" / "kafka"
    subprocess.run(["mvn", "-q", "-B", "-f", str(pom), "package"], check=True)
    _build_franz_go()
    subprocess.run([sys.executable, "-m", "venv", str(PYTHON.parents[1])], check=True)
    package = f"kafka-python=={KAFKA_PYTHON_VERSION}"
    subprocess.run([str(PYTHON), "-m", "pip", "install", "-q", package], check=True)


def _build_franz_go() -> None:
    """Puts franz_go.go into a copy of franz-go's module, since the sticky balancer is internal."""
    module = f"github.com/twmb/franz-go@{FRANZ_GO_VERSION}"
    work = FRANZ_GO.parent / "franz-go-module"
    shutil.rmtree(work, ignore_errors=True)
    FRANZ_GO.parent.mkdir(parents=True, exist_ok=True)
    download = subprocess.run(
        ["go", "mod", "download", "-json", module], check=True, capture_output=True, cwd="/"
    )
    shutil.copytree(json.loads(download.stdout)["Dir"], work, copy_function=shutil.copyfile)
    subprocess.run(["chmod", "-R", "u+w", str(work)], check=True)
    main = work / "pkg" / "kgo" / "internal" / "sticky" / "regroupbench"
    main.mkdir()
    shutil.copyfile(HERE / "franz_go.go", main / "main.go")
    subprocess.run(["go", "build", "-o", str(FRANZ_GO), "."], check=True, cwd=main)


def command(peer: str) -> list[str] | None:
    """The peer's command line, before SECONDS ASSIGNOR FILE, or None if it is not built."""
    programs = {
        "Java": (JAVA, ["java", "-Xmx4g", "-jar", str(JAVA), "time"]),
        "Java, sets by id": (JAVA, ["java", "-Xmx4g", "-jar", str(JAVA), "time"]),
        "franz-go": (FRANZ_GO, [str(FRANZ_GO)]),
        "kafka-python": (PYTHON, [str(PYTHON), str(HERE / "kafka_python_peer.py")]),
    }
    program, line = programs[peer]
    return line if program.exists() else None


def median_ms(peer: str, assignor: str, file: Path, seconds: float, limit: float) -> float | None:
    """Returns None if the peer is not built, lacks the assignor or fails; infinite beyond
    ``limit``.
    """
    line = command(peer)
    if line is None or assignor not in ASSIGNORS_OF[peer]:
        return None
    line = [*pinned(), *line, str(seconds), assignor, str(file)]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return math.inf
    except subprocess.CalledProcessError:
        return None
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured["as_returned_ms" if peer == "Java, sets by id" else "median_ms"]


def pinned() -> list[str]:
    return ["taskset", "-c", "1"] if shutil.which("taskset") else []
