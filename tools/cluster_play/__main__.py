"""Play a script on a cluster, and write its evidence and the figures."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tools.cluster_play.play import Play
from tools.cluster_play.script import SCRIPTS
from tools.cluster_play.truth import truth_of
from tools.data_costs_play.__main__ import BUILD, JAVA
from tools.kafka_broker import Broker, Cluster
from tools.twins.__main__ import BUILD as BROKERS

# Files of a partition that a backup of a broker's disk has besides segments.
BESIDE = ("leader-epoch-checkpoint", "partition.metadata")


def main(
    script: Annotated[str, typer.Argument(help=f"One of {', '.join(SCRIPTS)}.")],
    out: Annotated[Path, typer.Argument(help="A new folder.")],
    partitions: Annotated[int, typer.Option(help="Partitions of `__consumer_offsets`.")] = 5,
) -> None:
    out.mkdir(parents=True)
    played = SCRIPTS[script]()
    before, after = (BROKERS / f"broker-{each}" / "lib" for each in played.kafka)
    classes = f"{BUILD / 'java' / 'lib'}/*"
    host = ["java", *JAVA, "-Xmx512m", "-cp", classes, "regroup.Consumers"]
    if played.is_light:
        host = [sys.executable, "-m", "tools.cluster_play.members"]
    with tempfile.TemporaryDirectory(prefix="regroup-cluster-") as folder, ExitStack() as stack:
        if before == after:
            one = Broker(Path(folder) / "b1", partitions, before, played.brokers)
            brokers = {1: stack.enter_context(one)}
        else:
            cluster = Cluster(Path(folder), partitions, before, played.brokers, played.features)
            brokers = stack.enter_context(cluster).brokers
        Play(brokers, out.resolve(), host, played, after).run()
        for number, broker in brokers.items():
            _keep(broker, out / f"b{number}", partitions)
    shutil.rmtree(out / "control")
    (out / "truth.json").write_text(json.dumps(truth_of(out), indent=1))


def _keep(broker: Broker, out: Path, partitions: int) -> None:
    """Copy the log and the records of groups and commits."""
    out.mkdir()
    shutil.copy(broker.log, out)
    for number in range(partitions):
        name = f"__consumer_offsets-{number}"
        (out / name).mkdir()
        log = broker.data / name
        for file in (*log.glob("*.log"), *(log / each for each in BESIDE)):
            shutil.copy(file, out / name)


if __name__ == "__main__":
    typer.run(main)
