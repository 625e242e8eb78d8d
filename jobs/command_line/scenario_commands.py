"""The commands `regroup scenario run` and `regroup scenario diagram`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

scenario = typer.Typer(help="Run request scenarios in the coordinator model.")


@scenario.command("run")
def scenario_run(
    paths: Annotated[list[str], typer.Argument(help="Scenario files or folders.")],
    era: Annotated[str, typer.Option(help="Kafka era: 0.9, 0.10, 2.0, 2.5, 3.9, 4.1 or 4.4.")],
    ids_from: Annotated[
        str | None, typer.Option(help="Take member ids from this trace, or this folder of traces.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Folder for the traces; default: print them.")
    ] = None,
) -> None:
    """Run scenarios in the coordinator model; print or write their traces."""
    from jobs.scenario.command import run

    raise typer.Exit(run(era, ids_from, out, paths))


@scenario.command("diagram")
def scenario_diagram(
    file: Annotated[str, typer.Argument(help="Scenario, client scenario, or trace (.jsonl).")],
    era: Annotated[
        str | None, typer.Option(help="Kafka era: 0.9, 0.10, 2.0, 2.5, 3.9, 4.1 or 4.4.")
    ] = None,
    kind: Annotated[str, typer.Option("--as", help="Output: text or mermaid.")] = "text",
    trace: Annotated[
        str | None, typer.Option(help="Draw this trace of the scenario; without --era.")
    ] = None,
) -> None:
    """Draw requests, responses and delayed operations of a scenario."""
    from jobs.scenario.command import diagram

    sys.stdout.write(diagram(file, era, trace, kind))
