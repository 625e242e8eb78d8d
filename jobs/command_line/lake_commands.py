"""Commands that query, check and keep a lake."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.command_line.options import (
    ConfOption,
    EngineOption,
    FormatOption,
    LakeOption,
)
from jobs.console.errors import RunFailed
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner

if TYPE_CHECKING:
    from jobs.maintain import MaintainOptions

commands = typer.Typer()


@commands.command()
def sql(
    statement: Annotated[
        str, typer.Argument(help="One SELECT statement, a table or view, or SHOW TABLES.")
    ],
    lake: LakeOption,
    allow_files: Annotated[
        bool,
        typer.Option(
            "--allow-files", help="Allow DuckDB to read other files, and to write files with COPY."
        ),
    ] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Query a lake with SQL, without a JVM.  SHOW TABLES lists tables and views."""
    from jobs.lake.sql import query

    columns, rows = query(lake, statement, allow_files=allow_files)
    if columns == ["explain_key", "explain_value"] and format is Format.TABLE:
        print(*(plan for _, plan in rows), sep="\n")
    else:
        print_rows(columns, rows, format)


@commands.command()
def register(
    lake: LakeOption,
    database: Annotated[str, typer.Option(help="Name of the database.")] = "regroup",
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Register a lake in Spark's metastore.  Adds tables and views with their comments."""
    from jobs.configuration.config import load_config
    from jobs.register import COLUMNS, RegisterOptions
    from jobs.register import register as run

    print_rows(COLUMNS, run(RegisterOptions(lake, database), load_config(conf)), format)


@commands.command()
def check(lake: LakeOption, format: FormatOption = Format.TABLE) -> None:
    """Check a lake: conservation, keys, order.  Exit 1 on a violation."""
    from jobs.checks.check import broken_laws, kept_laws, notes
    from jobs.checks.in_progress import IN_PROGRESS, is_written

    was_written = is_written(lake)
    with spinner("check"):
        columns, rows = broken_laws(lake)
    if rows and (was_written or is_written(lake)):
        raise RunFailed(f"--lake {lake}: {IN_PROGRESS}")
    if rows or format is not Format.TABLE:
        print_rows(columns, rows, format)
    else:
        print(kept_laws(lake))
    for note in notes(lake):
        print(f"regroup: {note}", file=sys.stderr)
    if rows:
        raise typer.Exit(1)


@commands.command()
def maintain(
    lake: LakeOption,
    keep_days: Annotated[
        int | None, typer.Option(help="Delete dates older than this many days; default: keep all.")
    ] = None,
    vacuum_hours: Annotated[
        int, typer.Option(help="Keep unreferenced files for this many hours.")
    ] = 168,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Only repair damaged tables, and print what to run next."),
    ] = False,
    engine: EngineOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Delete old dates, combine small files.  Deletes unreferenced files, too."""
    from jobs.configuration.config import load_config
    from jobs.maintain import COLUMNS, MaintainOptions
    from jobs.maintain import maintain as run

    options = MaintainOptions(lake, keep_days, vacuum_hours, repair)
    if repair:
        _repair(options, format)
    else:
        print_rows(COLUMNS, run(options, load_config(conf, engine)), format)


def _repair(options: MaintainOptions, format: Format) -> None:
    from jobs.maintain import REPAIR_COLUMNS, repair_lake

    rows = repair_lake(options)
    if format is not Format.TABLE:
        print_rows(REPAIR_COLUMNS, rows, format)
        return
    for table, damage, next_step in rows:
        print(f"{table}: {damage}; {next_step}")
    if not rows:
        print(f"{options.lake}: nothing is damaged")
