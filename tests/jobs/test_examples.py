"""The example below each command's help works as it is printed."""

import io
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from jobs.command_line import cli
from jobs.command_line.examples import EXAMPLES
from jobs.nightly_run.pipeline import JOBS
from schemas import table_names
from tests.jobs.test_incident_replay import tables

ROOT = Path(__file__).parents[2]
NOT_RUN = [  # Examples that need Spark or a server, or run all jobs of nightly.
    "investigate",
    "nightly",
    "watch",
    "ingest",
    "snapshot",
    *JOBS,
    "topic-partitions",
    "register",
    "maintain",
    "what-if-sweep",
    "incident_replay",
    "what_if_sweep",
    "demo",
    "spans",
    "serve",
]
# A part of the output and the exit code, for a lake with the logs and records of two groups.
OUTPUTS = {
    "sql": (" cluster_id   group_id   cause", 0),
    # The lake has rows of only some tables.
    "check": ("event_date is the UTC date of the row's time", 1),
    "decode": ('{"partition":', 0),
    "assign": ('{"case":"two","assignment":{"a":[["t",0],["t",1]],"b":[["t",2]]}}\n', 0),
    "simulate": ("\n billing           6           20", 0),
    "replay": ("5 of 5 generations reproduced", 0),
    "what-if": ("\n predicted   group.instance.id (process name)", 0),
    "plan": ("\nno recommendation: ", 0),  # Without tables of causes, no downtime is observed.
    "gate": ("group billing-eager: ", 1),
    "report": ("", 0),
    "init": ("", 0),
    "jars": ("", 0),
    "doctor": ("ok        settings: ", 0),
    "alerts": ("", 0),
    "digest": ("", 0),
    "dashboard": ("", 0),
    "scenario run": ('"event":"response","to":"f2"', 0),
    "scenario diagram": ("\n         a     b     c    coordinator   log\n", 0),
}


def commands(group, path=""):
    """Names of all commands, with the name of their group."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}"


def test_every_command_has_an_example():
    assert sorted(commands(typer.main.get_command(cli.app))) == sorted(EXAMPLES)


def test_every_example_is_tested():
    assert sorted([*NOT_RUN, *OUTPUTS]) == sorted(EXAMPLES)


def test_the_list_of_commands_has_full_sentences(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["regroup", "--help"])
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        cli.main()

    sections = capsys.readouterr().out.split("Commands:\n")[1].splitlines()
    listed = [line for line in sections if line.startswith("  ")]
    visible = [c for c in typer.main.get_command(cli.app).commands.values() if not c.hidden]
    assert len(listed) == len(visible)
    assert [line for line in listed if not line.endswith(".")] == []
    assert [line for line in listed if line.endswith("...")] == []


@pytest.mark.parametrize("command", EXAMPLES)
def test_help_shows_the_example_with_its_line_breaks(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["regroup", *command.split(), "--help"])
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        cli.main()

    shown = capsys.readouterr().out.split("Example:\n")[1]

    assert "\n".join(line[4:] for line in shown.splitlines()) == EXAMPLES[command]


@pytest.mark.parametrize("command", NOT_RUN)
def test_an_example_that_is_not_run_has_valid_arguments(command):
    words = shlex.split(EXAMPLES[command].replace("\\\n", " ").rpartition("|")[2])
    group = typer.main.get_command(cli.app)
    taken = []
    group.commands[command].callback = lambda **options: taken.append(options)

    group(words[1:], standalone_mode=False)

    assert words[:2] == ["regroup", command]
    assert len(taken) == 1


@pytest.fixture(scope="module")
def folder(write_lake, tmp_path_factory):
    """A copy of the project's folder, with two groups in the demo's lake."""
    place = tmp_path_factory.mktemp("project")
    (place / "examples").symlink_to(ROOT / "examples")
    rows = tables(["inventory-static", "billing-eager"]) | {
        "generations": [{"group_id": "inventory-static", "generation": 1}]
    }
    for row in [row for table in rows.values() for row in table]:
        row["cluster_id"] = "kafka-3.9"
    write_lake(place / ".demo" / "lake", {table: [] for table in table_names()} | rows)
    return place


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    # `regroup plan` simulates for ten seconds; other tests play its deployments.
    [
        pytest.param(each, marks=pytest.mark.campaign) if each == "plan" else each
        for each in OUTPUTS
    ],
)
def test_an_example_works_as_printed(command, folder, regroup, monkeypatch):
    monkeypatch.chdir(folder)
    before, _, line = EXAMPLES[command].rpartition("|")
    if before:
        lines = subprocess.run(["bash", "-c", before], capture_output=True, check=True)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.stdout)))

    code, printed, errors = regroup(*shlex.split(line)[1:])

    output, expected = OUTPUTS[command]
    assert output in printed
    assert code == expected, errors
