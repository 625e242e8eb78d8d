"""Runs examples/airflow/regroup_dag.py by Airflow itself, and compares how its tasks end.

    python -m tools.airflow_dag VENV FOLDER

VENV has Airflow with its standard provider; FOLDER gets Airflow's home and the lake.  `airflow dags
test` runs the DAG three times over an incident with the embedded engine: every task succeeds;
nightly fails once with exit code 1 and is tried again, and alerts fails because there is an alert;
nightly gets a wrong argument and is not tried again.  Exit 1 if a task ends otherwise, or if the
lake lacks a table.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from jobs.lake.sql import existing_tables, query

ROOT = Path(__file__).resolve().parent.parent
DAG = ROOT / "examples" / "airflow"
INCIDENT = ROOT / "examples" / "mixed-clients-3.9.1"
REGROUP = ROOT / ".venv" / "bin" / "regroup"
SOURCES = f"--segments {INCIDENT}/segments --broker-log {INCIDENT}/server.log --engine embedded"
# A command that fails the first time, like a run whose broker does not answer.
FAILS_ONCE = """#!/bin/sh
[ -e {marker} ] && exec {regroup} "$@"
touch {marker}
echo "regroup: the first try fails" >&2
exit 1
"""
TABLES = ("generations", "rebalance_latency", "rebalance_causes", "assignments", "episodes", "runs")


class Run(NamedTuple):
    """``variables``: of Airflow, beside those of every run.  ``tasks``: final state and number of
    tries."""

    name: str
    variables: dict[str, str]
    tasks: dict[str, tuple[str, int]]


SKIPPED = ("upstream_failed", 0)
RUNS = (
    Run(
        "no alerts",
        {"alerts": "--since 1s --at 2026-11-21T00:46:00"},  # This is before the first rebalance.
        {"nightly": ("success", 1), "check": ("success", 1), "alerts": ("success", 1)},
    ),
    Run(
        "first try of nightly fails, and there is an alert",
        {"command": "{folder}/fails_once"},
        {"nightly": ("success", 2), "check": ("success", 1), "alerts": ("failed", 1)},
    ),
    Run(
        "wrong argument",
        {"sources": "--broker-log /no/such/file"},
        {"nightly": ("failed", 1), "check": SKIPPED, "alerts": SKIPPED},
    ),
)  # fmt: skip


def main(
    venv: Annotated[Path, typer.Argument(help="Virtual environment with Airflow.")],
    folder: Annotated[Path, typer.Argument(help="Folder to write; its content is deleted.")],
) -> None:
    folder = folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_fails_once(folder)
    airflow = venv.resolve() / "bin" / "airflow"
    call([airflow, "db", "migrate"], environment(folder, {}), folder / "migrate.log")
    as_expected = [succeeds(airflow, run, folder) for run in RUNS]
    missing = sorted(set(TABLES) - set(existing_tables(f"{folder}/lake")))
    for table in missing:
        print(f"the lake lacks {table}", file=sys.stderr)
    if not missing:
        (count,) = query(f"{folder}/lake", "SELECT COUNT(*) FROM generations")[1][0]
        print(f"{len(existing_tables(f'{folder}/lake'))} tables, {count} generations")
    raise typer.Exit(0 if all(as_expected) and not missing else 1)


def succeeds(airflow: Path, run: Run, folder: Path) -> bool:
    """Run the DAG, print a line per task; whether each ended as expected."""
    variables = {name: value.format(folder=folder) for name, value in run.variables.items()}
    before = run_ids(folder)
    log = folder / f"{len(before) + 1}.log"
    call([airflow, "dags", "test", "regroup"], environment(folder, variables), log, may_fail=True)
    (run_id,) = run_ids(folder) - before
    ended = tasks(folder, run_id)
    for task, expected in run.tasks.items():
        state, tries = ended.get(task, ("not run", 0))
        wrong = "" if (state, tries) == expected else f", expected {expected}: see {log}"
        print(f"{run.name}: {task} {state}, {tries} {'try' if tries == 1 else 'tries'}{wrong}")
    return ended == run.tasks


def environment(folder: Path, variables: dict[str, str]) -> dict[str, str]:
    """Airflow's configuration, and the variables of the DAG."""
    own = {
        "AIRFLOW_HOME": str(folder / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAG),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "1",
    }
    of_dag = {
        "command": str(REGROUP),
        "lake": str(folder / "lake"),
        "cluster_id": "kafka-3.9",
        "sources": SOURCES,
        "options": "",
    } | variables
    return os.environ | own | {f"AIRFLOW_VAR_REGROUP_{k.upper()}": v for k, v in of_dag.items()}


def write_fails_once(folder: Path) -> None:
    command = folder / "fails_once"
    command.write_text(FAILS_ONCE.format(marker=folder / "failed", regroup=REGROUP))
    command.chmod(0o755)


def call(command: list[object], env: dict[str, str], log: Path, may_fail: bool = False) -> None:
    with log.open("wb") as out:
        code = subprocess.run(list(map(str, command)), env=env, stdout=out, stderr=out).returncode
    if code and not may_fail:
        raise SystemExit(f"{log}: exit code {code}")


def run_ids(folder: Path) -> set[str]:
    return {run_id for (run_id,) in airflow_rows(folder, "SELECT run_id FROM dag_run")}


def tasks(folder: Path, run_id: str) -> dict[str, tuple[str, int]]:
    rows = airflow_rows(
        folder, "SELECT task_id, state, try_number FROM task_instance WHERE run_id = ?", run_id
    )
    return {task: (state, tries) for task, state, tries in rows}


def airflow_rows(folder: Path, sql: str, *values: str) -> list[tuple]:  # type: ignore[type-arg]
    """Rows of Airflow's own database."""
    database = sqlite3.connect(folder / "home" / "airflow.db")
    try:
        return database.execute(sql, values).fetchall()
    finally:
        database.close()


if __name__ == "__main__":
    typer.run(main)
