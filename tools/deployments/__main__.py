"""Play the deployments on a real broker, and write its evidence and the figures."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tools.data_costs_play.__main__ import BUILD, JAVA
from tools.deployments.play import Play
from tools.deployments.script import BROKER
from tools.deployments.truth import truth_of
from tools.kafka_broker import Broker
from tools.twins.__main__ import BUILD as BROKERS
from tools.twins.__main__ import OFFSETS_PARTITIONS, copy_log


def main(
    out: Annotated[Path, typer.Argument(help="A new folder.")],
    kafka: Annotated[str, typer.Option(help="Version of the broker.")] = "4.4.0",
) -> None:
    out.mkdir(parents=True)
    jars = BROKERS / f"broker-{kafka}" / "lib"
    host = ["java", *JAVA, "-Xmx512m", "-cp", f"{BUILD / 'java' / 'lib'}/*", "regroup.Consumers"]
    with tempfile.TemporaryDirectory(prefix="regroup-deployments-") as folder:
        with Broker(Path(folder), OFFSETS_PARTITIONS, jars, BROKER) as broker:
            Play(broker.bootstrap, out.resolve(), host).run()
        shutil.copy(broker.log, out / "server.log")
        for number in range(OFFSETS_PARTITIONS):
            copy_log(broker.data / f"__consumer_offsets-{number}", out / "segments")
    shutil.rmtree(out / "control")
    (out / "truth.json").write_text(json.dumps(truth_of(out), indent=1))


if __name__ == "__main__":
    typer.run(main)
