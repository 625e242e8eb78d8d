"""The commands `regroup scenario run` and `regroup scenario diagram`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

scenario = typer.Typer(help="Run request scenarios in the coordinator model.")


class _ListingEras(TyperCommand):
    """A command whose help lists the eras.

    Importing the eras takes longer than showing the help of most commands.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from coordinator_core.coordinator.eras import ERAS

        for parameter in self.params:
            if parameter.name == "era":
                parameter.help = f"Kafka era: {', '.join(ERAS)}."  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


@scenario.command("run", cls=_ListingEras)
def scenario_run(
    paths: Annotated[list[str], typer.Argument(help="Scenario files or folders.")],
    era: Annotated[str, typer.Option()],
    ids_from: Annotated[
        str | None, typer.Option(help="Take member ids from this trace, or this folder of traces.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Folder for the traces; default: print them.")
    ] = None,
) -> None:
    """Run scenarios in the coordinator model; print or write their traces."""
    from jobs.simulate.scenario import run

    raise typer.Exit(run(era, ids_from, out, paths))


@scenario.command("diagram", cls=_ListingEras)
def scenario_diagram(
    file: Annotated[str, typer.Argument(help="Scenario, client scenario, or trace (.jsonl).")],
    era: Annotated[str | None, typer.Option()] = None,
    kind: Annotated[str, typer.Option("--as", help="Output: text or mermaid.")] = "text",
    trace: Annotated[
        str | None,
        typer.Option(help="Draw this trace of the scenario; cannot be combined with --era."),
    ] = None,
) -> None:
    """Draw requests, responses and delayed operations of a scenario."""
    from jobs.simulate.scenario import diagram

    sys.stdout.write(diagram(file, era, trace, kind))
