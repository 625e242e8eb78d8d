"""Play the deployments on a real broker, and write its evidence and the figures."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tools.data_costs_play.__main__ import BUILD, JAVA
from tools.deployments.changes import changes
from tools.deployments.play import Play
from tools.deployments.script import BROKER, strategies
from tools.deployments.truth import truth_of
from tools.kafka_broker import Broker
from tools.twins.__main__ import BUILD as BROKERS
from tools.twins.__main__ import OFFSETS_PARTITIONS, copy_log

SCRIPTS = {"strategies": strategies, "changes": changes}


def main(
    out: Annotated[Path, typer.Argument(help="A new folder.")],
    script: Annotated[str, typer.Option(help=f"One of {', '.join(SCRIPTS)}.")] = "strategies",
    kafka: Annotated[str, typer.Option(help="Version of the broker.")] = "4.4.0",
) -> None:
    out.mkdir(parents=True)
    jars = BROKERS / f"broker-{kafka}" / "lib"
    host = ["java", *JAVA, "-Xmx512m", "-cp", f"{BUILD / 'java' / 'lib'}/*", "regroup.Consumers"]
    with tempfile.TemporaryDirectory(prefix="regroup-deployments-") as folder:
        with Broker(Path(folder), OFFSETS_PARTITIONS, jars, BROKER) as broker:
            play = Play(
                broker.bootstrap,
                out.resolve(),
                host,
                SCRIPTS[script](),
                lambda: _keep(broker, out / "night"),
            )
            play.run()
        _keep(broker, out)
    shutil.rmtree(out / "control")
    (out / "truth.json").write_text(json.dumps(truth_of(out), indent=1))


def _keep(broker: Broker, out: Path) -> None:
    """Copy the log and the records of groups and commits."""
    out.mkdir(exist_ok=True)
    shutil.copy(broker.log, out / "server.log")
    for number in range(OFFSETS_PARTITIONS):
        copy_log(broker.data / f"__consumer_offsets-{number}", out / "segments")


if __name__ == "__main__":
    typer.run(main)
