"""`regroup demo`: nightly on two packaged incidents, then each rebalance and its causes.

reads   examples/mixed-clients-3.9.1 and -4.1.2: segments and server.log of real brokers
writes  every table of a lake of its own

The first incident runs on the embedded engine, the second on Spark, into the same lake.  Each run
is a process of its own, because a process uses one engine.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import samefile
from pathlib import Path

from jobs import __name__ as PACKAGE
from jobs.configuration.config import Engine, load_config
from jobs.configuration.keys import SOURCES
from jobs.configuration.packaged_files import EXAMPLES
from jobs.console.printing import print_rows
from jobs.engine.choice import missing_for_spark
from jobs.lake.sql import query

INCIDENTS = {
    "kafka-3.9": EXAMPLES / "mixed-clients-3.9.1",
    "kafka-4.1": EXAMPLES / "mixed-clients-4.1.2",
}
ENGINES = {"kafka-3.9": Engine.EMBEDDED, "kafka-4.1": Engine.SPARK}
REGROUP = [sys.executable, "-P", "-m", f"{PACKAGE}.command_line.cli"]

GROUPS = """
    SELECT group_id AS "group", generations, rebalances, aborted_rebalances AS aborted,
        not_stable_ms, longest_ms
    FROM q01_most_rebalanced_groups WHERE cluster_id = '{cluster}'
    ORDER BY rebalances DESC, group_id"""

STORY = """
    SELECT STRFTIME(event_time, '%H:%M:%S.%g') AS "at",
        CASE WHEN role = 'absorbed' THEN '(' || generation || ')' ELSE generation || '' END AS gen,
        CASE WHEN role = 'trigger' THEN cause WHEN role = 'absorbed' THEN '= ' || cause
            ELSE '+ ' || cause END AS cause,
        story, member,
        CASE WHEN lead THEN outcome END AS outcome,
        CASE WHEN lead THEN member_count END AS members,
        CASE WHEN lead THEN join_ms END AS join_ms, CASE WHEN lead THEN sync_ms END AS sync_ms,
        CASE WHEN lead THEN members_joined END AS joined,
        CASE WHEN lead THEN members_left END AS "left",
        CASE WHEN lead THEN members_expired END AS expired,
        CASE WHEN lead THEN members_replaced END AS replaced,
        CASE WHEN lead THEN partitions_moved END AS moved,
        CASE WHEN lead THEN moves_forced END AS forced
    FROM (SELECT *, cause_seq = 1 AND role = 'trigger' AS lead FROM incident_story)
    WHERE cluster_id = '{cluster}' AND group_id = '{group}'
    ORDER BY incarnation, generation, cause_seq"""

LEGEND = """\
One row per cause. The first row of a rebalance names its trigger and has its figures;
+ marks other causes before its join completed; (generation) and = mark causes that triggered no
rebalance."""


def demo(lake: str) -> int:
    """Returns the exit code of the first run that fails, else 0."""
    engines = ENGINES
    if missing := missing_for_spark(load_config(None)):
        _say(f"no Spark ({missing}): the embedded engine runs both incidents")
        engines = dict.fromkeys(INCIDENTS, Engine.EMBEDDED)
    times = []
    for cluster, incident in INCIDENTS.items():
        engine = engines[cluster]
        _say(f"nightly on {cluster}, engine {engine}:")
        began = time.monotonic()
        if code := _nightly(lake, cluster, incident, engine):
            return code
        times.append((cluster, engine, round(time.monotonic() - began, 1)))
        _say("")
    print(LEGEND)
    for cluster, incident in INCIDENTS.items():
        _print_incident(lake, cluster, incident.name)
    print_rows(
        ["cluster", "engine", "seconds"], times, title="nightly, including the engine's start"
    )
    print(f'Next: {called_as()} sql --lake {shlex.quote(lake)} "SELECT * FROM q03_causes"')
    return 0


def called_as() -> str:
    """The command of this process: its path, unless PATH has this `regroup`."""
    called = sys.argv[0]
    on_path = shutil.which("regroup")
    is_other = on_path is None or not Path(called).exists() or not samefile(called, on_path)
    return shlex.quote(called) if is_other and Path(called).name == "regroup" else "regroup"


def _nightly(lake: str, cluster: str, incident: Path, engine: Engine) -> int:
    """Run nightly in a process of its own; returns its exit code."""
    inputs = ["--segments", f"{incident}/segments", "--broker-log", f"{incident}/server.log"]
    where = ["--lake", lake, "--cluster-id", cluster, "--engine", engine]
    with _left_to_the_child(signal.SIGINT):
        # Inputs that the environment names do not belong to these incidents.
        environment = {
            n: v for n, v in os.environ.items() if n not in {k.variable for k in SOURCES}
        }
        command = [*REGROUP, "nightly", *where, *inputs]
        return subprocess.run(command, env=environment).returncode


@contextmanager
def _left_to_the_child(number: signal.Signals) -> Iterator[None]:
    """A terminal sends Ctrl-C to both processes; the child prints a line and exits."""
    before = signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(number, before)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _print_incident(lake: str, cluster: str, name: str) -> None:
    columns, rows = query(lake, GROUPS.format(cluster=cluster))
    print_rows(columns, rows, title=f"{cluster}: {name}")
    for group in sorted(row[0] for row in rows):
        print_rows(*query(lake, STORY.format(cluster=cluster, group=group)), title=group)
