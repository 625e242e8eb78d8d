"""The DAG for Airflow: its tasks, and that their commands exist.  Airflow itself is replaced here;
`make -C tools airflow` runs the DAG by Airflow."""

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer.main

from jobs.command_line import cli

FILE = Path(__file__).parents[2] / "examples" / "airflow" / "regroup_dag.py"
COMMANDS = typer.main.get_command(cli.app)
VARIABLE = re.compile(r"\{\{ var\.value\.get\('regroup_(\w+)', (?:'([^']*)'|\"([^\"]*)\")\) \}\}")


class Skip(Exception):
    """Airflow's, for an exit code that skips a task."""


class Fail(Exception):
    """Airflow's, for a task that must not be tried again."""


class Operator:
    """Airflow's BashOperator: keeps its options, exits with ``exit_code``."""

    tasks = ()

    def __init__(self, **options):
        self.options, self.exit_code, self.before = options, 0, []
        Operator.tasks = (*Operator.tasks, self)

    def __rshift__(self, others):
        self.before = [each.options["task_id"] for each in others]

    def execute(self, context):
        if self.exit_code == self.options["skip_on_exit_code"]:
            raise Skip
        if self.exit_code:
            raise RuntimeError(self.exit_code)
        return "done"


class Dag:
    def __init__(self, **options):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


@pytest.fixture
def tasks(monkeypatch):
    """The tasks of the file, by name."""
    modules = {
        "airflow.providers.standard.operators.bash": {"BashOperator": Operator},
        "airflow.sdk": {"DAG": Dag},
        "airflow.sdk.exceptions": {"AirflowSkipException": Skip, "AirflowFailException": Fail},
    }
    for name, values in modules.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(Operator, "tasks", ())
    exec(compile(FILE.read_text(encoding="utf-8"), FILE.name, "exec"), {})
    return {each.options["task_id"]: each for each in Operator.tasks}


def rendered(command):
    """The command with the defaults of its variables."""
    return VARIABLE.sub(lambda match: match[2] or match[3], command)


def test_check_and_alerts_follow_nightly(tasks):
    assert list(tasks) == ["nightly", "check", "alerts"]
    assert tasks["nightly"].before == ["check", "alerts"]
    assert [each.options["retries"] for each in tasks.values()] == [2, 0, 0]


def test_the_commands_are_those_of_the_defaults(tasks):
    assert {name: rendered(each.options["bash_command"]) for name, each in tasks.items()} == {
        "nightly": "/opt/regroup/.venv/bin/regroup nightly --lake /data/lake --cluster-id prod"
        " --kafka broker-1:9092 --broker-log '/data/logs/*/server.log*'"
        " --log-timezone Europe/Berlin --conf /etc/regroup.toml",
        "check": "/opt/regroup/.venv/bin/regroup check --lake /data/lake",
        "alerts": "/opt/regroup/.venv/bin/regroup alerts --lake /data/lake --cluster-id prod"
        " --since 24h --conf /etc/regroup.toml",
    }


def test_their_options_exist(tasks):
    for each in tasks.values():
        _, name, *words = shlex.split(rendered(each.options["bash_command"]))
        options = {option for each in COMMANDS.commands[name].params for option in each.opts}
        assert {word for word in words if word.startswith("--")} <= options


@pytest.mark.parametrize(
    ("exit_code", "error"),
    [(1, RuntimeError), (2, Fail), (130, RuntimeError)],
    ids=["1: tried again", "2: not tried again", "130: tried again"],
)
def test_a_wrong_argument_is_not_tried_again(tasks, exit_code, error):
    tasks["nightly"].exit_code = exit_code

    with pytest.raises(error):
        tasks["nightly"].execute({})


def test_exit_code_0_succeeds(tasks):
    assert tasks["nightly"].execute({}) == "done"
