"""The client libraries: what each program needs, how it is built, and how it is started."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.data_costs_play.__main__ import JAVA, PACKAGE
from tools.data_costs_play.play import ROOT

BUILD = ROOT / "build" / "league"
SOURCES = ROOT / "tools" / "data_costs_play"
KAFKA = "4.4.0"
_JARS = ROOT / "build" / "data-costs-play" / "java" / "lib"


@dataclass(frozen=True, kw_only=True)
class Program:
    """``clients``: by name of a client, what starts its process.  ``needs``: commands, with what to
    install for them.  ``build``: commands, with the folder in which each runs.
    """

    clients: Mapping[str, Sequence[str]]
    needs: Mapping[str, str]
    build: Sequence[tuple[Path, Sequence[str]]]


def _python(clients: Mapping[str, str], *packages: str) -> Program:
    """``clients``: by name, the module.  In a venv of its own, as versions exclude each other."""
    venv = BUILD / "-".join(packages).replace("==", "-")
    python = f"{venv}/bin/python"
    return Program(
        clients={name: (python, "-m", f"{PACKAGE}.{module}") for name, module in clients.items()},
        needs={"python3.11": "Python 3.11"},
        build=(
            (ROOT, ("python3.11", "-m", "venv", str(venv))),
            (ROOT, (python, "-m", "pip", "install", "--quiet", *packages)),
        ),
    )


def _java(main_class: str) -> Sequence[str]:
    return ("java", *JAVA, "-cp", f"{_JARS}/*", f"regroup.{main_class}")


PROGRAMS = (
    Program(
        clients={"java": _java("Consume"), "streams": _java("Stream")},
        needs={"mvn": "JDK 17 and Maven"},
        build=(
            (
                ROOT,
                (
                    *("mvn", "-q", "-B", "-f", f"{SOURCES}/java/pom.xml"),
                    *(f"-Dkafka.version={KAFKA}", "clean", "package"),
                ),
            ),
        ),
    ),
    _python({"confluent": "confluent_client"}, "confluent-kafka==2.16.1"),
    _python({"aiokafka": "aiokafka_client"}, "aiokafka==0.14.0"),
    _python({"kafka-python": "kafka_python_client"}, "kafka-python==3.0.12"),
    _python({"kafka-python-2": "kafka_python_client"}, "kafka-python==2.2.15"),
    _python({"kafka-python-1.4": "kafka_python_client"}, "kafka-python==1.4.7"),
    Program(
        clients=dict.fromkeys(("franz", "sarama", "kafka-go"), (f"{BUILD}/consumers",)),
        needs={"go": "Go 1.26"},
        build=((SOURCES / "go", ("go", "build", "-o", f"{BUILD}/consumers", ".")),),
    ),
    Program(
        clients={"kafkajs": ("node", f"{BUILD}/kafkajs/client.mjs")},
        needs={"node": "Node.js 20", "npm": "npm"},
        build=(
            (ROOT, ("cp", "-r", f"{SOURCES}/kafkajs", str(BUILD))),
            (BUILD / "kafkajs", ("npm", "ci", "--silent", "--no-audit", "--no-fund")),
        ),
    ),
)


def commands(clients: Iterable[str]) -> dict[str, list[str]]:
    """Build the programs of these clients; prints each client that it skips, and why."""
    BUILD.mkdir(parents=True, exist_ok=True)
    wanted = set(clients)
    built: dict[str, list[str]] = {}
    for program in PROGRAMS:
        own = sorted(wanted & program.clients.keys())
        if not own:
            continue
        missing = [text for command, text in program.needs.items() if shutil.which(command) is None]
        if missing:
            print(f"skipped {', '.join(own)}: install {' and '.join(missing)}")
        elif failed := _build(program):
            print(f"skipped {', '.join(own)}: {failed}")
        else:
            built |= {name: list(program.clients[name]) for name in own}
    return built


def _build(program: Program) -> str | None:
    """The command that failed, with the last line of its output."""
    for folder, command in program.build:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            last = (done.stdout + done.stderr).strip().splitlines()[-1:]
            return f"`{' '.join(command)}` failed: {' '.join(last)}"
    return None
