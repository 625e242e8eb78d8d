"""What client libraries do in a restart, a kill, a slow handler and a freeze, on a real broker.

    make -C bench league OUT=folder [SCRIPT=surge]

One group of three processes per library, version and protocol goes through one script on one
broker; the groups begin 9 s apart.  OUT gets what `tools.data_costs_play` writes for a play, and
truth.json and versions.json, which `tools.client_zoo_league` prints as a table.  To
compare Regroup's tables with the play: `make -C tools client-zoo PLAYS=OUT`.

- programs: the libraries, how each is built and started, and what it needs
- script:   the groups and the times of all actions
- truth:    the figures of each group, from callbacks, handled records and the broker's log
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from bench.league import truth
from bench.league.programs import commands
from bench.league.script import GROUPS, SCRIPTS, script
from tools.client_zoo_league import main as print_table
from tools.data_costs_play.__main__ import copy_evidence
from tools.data_costs_play.play import ROOT, Play
from tools.kafka_broker import Broker


def main(
    out: Annotated[Path, typer.Argument(help="A new folder.")],
    only: Annotated[
        str, typer.Option(help="Libraries, separated by commas; without: all.")
    ] = ",".join(GROUPS),
    steps: Annotated[str, typer.Option("--script", help="One of: lives, surge.")] = "lives",
) -> None:
    unknown = set(only.split(",")) - GROUPS.keys()
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: not of {', '.join(GROUPS)}")
    if steps not in SCRIPTS:
        raise typer.BadParameter(f"{steps}: not of {', '.join(SCRIPTS)}")
    out.mkdir(parents=True)
    wanted = {name: GROUPS[name] for name in only.split(",")}
    built = commands(each.client for each in wanted.values())
    play = script({name: each for name, each in wanted.items() if each.client in built}, steps)
    jars = ROOT / "build" / f"broker-{play.kafka}" / "lib"
    with tempfile.TemporaryDirectory(prefix="regroup-league-") as folder:
        with Broker(Path(folder), jars=jars, properties=play.broker) as broker:
            Play("league", play, built, out).run(broker.bootstrap, play.kafka)
        copy_evidence(broker, Path(folder), out)
    truth.write(out)
    print_table([str(out)])


if __name__ == "__main__":
    typer.run(main)
