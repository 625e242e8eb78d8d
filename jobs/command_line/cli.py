"""The command `regroup`: its commands, and `main`, which prints errors and sets exit codes.

A command imports what it needs only when it runs: help, `--version` and `sql` need no Spark.  Job
scripts for spark-submit (jobs/NAME.py) call `main` with the name of their command.
"""

from __future__ import annotations

import gc
import sys
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException

from jobs import __version__
from jobs.command_line import (
    filling_commands,
    lake_commands,
    model_commands,
    result_commands,
    setup_commands,
)
from jobs.command_line.configured import ConfiguredCommand
from jobs.command_line.examples import epilog
from jobs.command_line.scenario_commands import scenario
from jobs.command_line.sections import CommandsBySection
from jobs.configuration.distributions import BOTH, installed
from jobs.console.engine_messages import separate_stderr
from jobs.console.errors import RunFailed, UsageError, fail, fail_unexpected
from jobs.console.interrupt import CODE as INTERRUPTED
from jobs.console.interrupt import follows_interrupt, handle_ctrl_c

app = typer.Typer(
    cls=CommandsBySection,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Forensics for Kafka consumer-group rebalances.",
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(__version__)
        raise typer.Exit


@app.callback()
def options_of_regroup(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Forensics for Kafka consumer-group rebalances."""


for _part in (filling_commands, lake_commands, model_commands, setup_commands, result_commands):
    app.add_typer(_part.commands)
app.add_typer(scenario, name="scenario")


def _complete(group: typer.Typer, path: str = "") -> None:
    """Show an example in the help of each command, and let its options be configured."""
    for command in group.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        command.epilog = epilog(f"{path}{name}")
        if command.cls is TyperCommand:
            command.cls = ConfiguredCommand
    for below in group.registered_groups:
        if below.typer_instance is not None:
            # Commands of `regroup` itself have no command name before them.
            inner = f"{below.name} " if below.name else ""
            _complete(below.typer_instance, path + inner)


_complete(app)


def main(command: str | None = None) -> None:
    """Run `regroup`, or only ``command`` (for job scripts), with the arguments of this process.

    Exit code: 0 done, 1 the answer is no or the run failed, 2 wrong argument or configuration, 130
    Ctrl-C.  An error is one line on stderr.
    """
    if isinstance(sys.stdout, TextIOWrapper):  # Some terminals cannot show every character.
        sys.stdout.reconfigure(errors="backslashreplace")
    separate_stderr()
    handle_ctrl_c()
    if len(installed()) > 1:
        fail(BOTH)
    # Collect garbage rarely: imports and plans are many objects, of which hardly any are garbage.
    gc.set_threshold(100_000)
    try:
        sys.exit(_run([command] if command else []))
    except BrokenPipeError:  # The reader ended early, as in `regroup ... | head`.
        sys.stderr.close()
        sys.exit(0)


def _run(command: list[str]) -> int:
    try:
        return app([*command, *sys.argv[1:]], "regroup", standalone_mode=False) or 0
    except BaseException as error:
        _end(error)


def _end(error: BaseException) -> NoReturn:
    if follows_interrupt(error):  # The command has already printed its message.
        sys.exit(INTERRUPTED)
    match error:
        case UsageError():
            fail(str(error), excerpt=error.excerpt)
        case RunFailed():
            fail(str(error), code=1)
        case TyperException():
            if (
                type(error).__name__ == "NoArgsIsHelpError"
            ):  # `regroup` without arguments prints its help.
                print(error, flush=True)
                sys.exit(2)
            fail(_wrong_usage(error))
        case BrokenPipeError():
            raise error
        case SystemExit() if isinstance(error.__context__, BrokenPipeError):  # from typer
            raise error.__context__
        case Exception():
            fail_unexpected(error)
    raise error


def _wrong_usage(error: TyperException) -> str:
    """What is wrong with the arguments, and the command that lists the right ones."""
    message = " ".join(error.format_message().split())
    end = "" if message.endswith((".", "?")) else "."
    context = getattr(error, "ctx", None)
    return f"{message}{end} See `{context.command_path if context else 'regroup'} --help`."


if __name__ == "__main__":
    main()
