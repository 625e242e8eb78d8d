"""Runs mutated inputs through whole runs or through readers, or a run per large input.

    python -m tools.fuzz mutate [--count N] [--seed S] [--engine E] [--only-ingest] [--mutators DIR]
    python -m tools.fuzz read|rotate [--count N] [--seed S]
    python -m tools.fuzz large [INPUT...] [--engine E]

Exit 1 if a run failed or counts do not add up.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tools.engines import Engines
from tools.fuzz import bounded, campaign, mutations, reading, rotations
from tools.fuzz.outside import mutations_in

app = typer.Typer(help=__doc__, pretty_exceptions_enable=False)
CountOption = Annotated[int, typer.Option(help="Number of inputs.")]
SeedOption = Annotated[int, typer.Option(help="Seed of the inputs.")]
EngineOption = Annotated[Engines, typer.Option(help="The engine of the runs.")]


@app.command()
def mutate(
    count: CountOption = 10_000,
    seed: SeedOption = 1,
    engine: EngineOption = Engines.EMBEDDED,
    only_ingest: Annotated[
        bool, typer.Option("--only-ingest", help="Read the inputs, but compute no other tables.")
    ] = False,
    mutators: Annotated[
        Path | None, typer.Option(help="Folder of Python files with more mutations.")
    ] = None,
) -> None:
    """Mutated logs, segments, dumps and traces; in whole runs with both engines, Spark reads a
    tenth of them."""
    if mutators is not None:
        mutations.add(mutations_in(mutators))
    code = 0
    folder = Path(tempfile.mkdtemp(prefix="regroup-fuzz-"))
    for name in engine.names():
        is_slow = name == "spark" and engine is Engines.BOTH and not only_ingest
        share = count // 10 if is_slow else count
        code |= campaign.main(folder, share, seed, name, only_ingest=only_ingest)
    raise typer.Exit(code)


@app.command()
def read(count: CountOption = 10_000, seed: SeedOption = 1) -> None:
    """Mutated logs through the readers of brokers' and of clients' logs."""
    raise typer.Exit(reading.main(count, seed))


@app.command()
def rotate(count: CountOption = 1_000, seed: SeedOption = 1) -> None:
    """Mutated logs with their copies and beginnings, through `ingest`."""
    raise typer.Exit(rotations.main(count, seed))


@app.command()
def large(
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Parts of their names; default: all.")
    ] = None,
    engine: EngineOption = Engines.EMBEDDED,
) -> None:
    """Inputs that are large, or become large when they are read."""
    raise typer.Exit(max(bounded.main(name, inputs or [""]) for name in engine.names()))


if __name__ == "__main__":
    app()
