"""Play a script on a broker, and write what clients and broker left behind, with the figures."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tools.kafka_broker import JARS, Broker
from tools.twins.play import Play
from tools.twins.scripts import BROKER, SCRIPTS
from tools.twins.truth import truth_of

BUILD = Path(__file__).resolve().parents[2] / "build"
OFFSETS_PARTITIONS = 5


def main(
    script: Annotated[str, typer.Argument(help=f"One of {', '.join(SCRIPTS)}.")],
    out: Annotated[Path, typer.Argument(help="A new folder.")],
    kafka: Annotated[str, typer.Option(help="Version of the broker: 4.4.0 or 4.1.2.")] = "4.4.0",
) -> None:
    if script not in SCRIPTS:
        raise typer.BadParameter(f"{script}: not one of {', '.join(SCRIPTS)}")
    out.mkdir(parents=True)
    built = BUILD / f"broker-{kafka}" / "lib"
    jars = JARS if kafka == "4.1.2" and not built.exists() else built
    with tempfile.TemporaryDirectory(prefix="regroup-twins-") as folder:
        with Broker(Path(folder), OFFSETS_PARTITIONS, jars, BROKER) as broker:
            Play(broker.bootstrap, out, SCRIPTS[script]).run()
        shutil.copy(broker.log, out / "server.log")
        for number in range(OFFSETS_PARTITIONS):
            copy_log(broker.data / f"__consumer_offsets-{number}", out / "segments")
    truth = truth_of(out)
    (out / "truth.json").write_text(json.dumps(truth, indent=1))
    for group, figures in truth["groups"].items():
        print(group, figures["window"])


def copy_log(log: Path, segments: Path) -> None:
    (segments / log.name).mkdir(parents=True)
    for file in sorted(log.glob("*.log")):
        shutil.copy(file, segments / log.name)


if __name__ == "__main__":
    typer.run(main)
