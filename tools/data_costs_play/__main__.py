"""Play a script on a real broker, and write what clients and broker left behind, with the truth."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tools.data_costs_play.play import ROOT, Play
from tools.data_costs_play.plays import PLAYS
from tools.data_costs_play.tables import tables
from tools.data_costs_play.truth import write
from tools.kafka_broker import JARS, Broker
from tools.twins.__main__ import copy_log

OFFSETS_PARTITIONS = 5
JAVA = (
    *("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
)
PACKAGE = "tools.data_costs_play"
BUILD = ROOT / "build" / "data-costs-play"


def main(
    play: Annotated[str, typer.Argument(help=f"One of {', '.join(PLAYS)}.")],
    out: Annotated[Path, typer.Argument(help="A new folder.")],
    python: Annotated[
        str, typer.Option(help="A Python with confluent-kafka, kafka-python and aiokafka.")
    ] = sys.executable,
) -> None:
    script = PLAYS[play]
    out.mkdir(parents=True)
    built = ROOT / "build" / f"broker-{script.kafka}" / "lib"
    jars = JARS if script.kafka == "4.1.2" and not built.exists() else built
    with tempfile.TemporaryDirectory(prefix="regroup-data-costs-") as folder:
        with Broker(Path(folder), OFFSETS_PARTITIONS, jars, script.broker) as broker:
            Play(play, script, commands(python), out).run(broker.bootstrap, script.kafka)
        copy_evidence(broker, Path(folder), out)
    print("\n".join(tables(write(out))))


def copy_evidence(broker: Broker, folder: Path, out: Path) -> None:
    """What the broker and the consumers of a play left behind.  ``folder`` of the broker."""
    shutil.copy(broker.log, out / "server.log")
    (out / "config").mkdir()
    for name in ("server.properties", "log4j2.properties"):
        shutil.copy(folder / name, out / "config")
    for log in sorted(broker.data.glob("__consumer_offsets-*")):
        copy_log(log, out / "segments")
    shutil.rmtree(out / "control")
    for file in sorted((out / "clients").glob("*.handled")):
        with gzip.open(f"{file}.gz", "wb") as packed:
            packed.write(file.read_bytes())
        file.unlink()


def commands(python: str) -> dict[str, list[str]]:
    """What runs a consumer, by client."""
    return {
        "confluent": [python, "-m", f"{PACKAGE}.confluent_client"],
        "kafka-python": [python, "-m", f"{PACKAGE}.kafka_python_client"],
        "aiokafka": [python, "-m", f"{PACKAGE}.aiokafka_client"],
        "java": ["java", *JAVA, "-cp", f"{BUILD / 'java' / 'lib'}/*", "regroup.Consume"],
        "franz": [str(BUILD / "consumers")],
        "kafkajs": ["node", str(BUILD / "kafkajs" / "client.mjs")],
    }


if __name__ == "__main__":
    typer.run(main)
