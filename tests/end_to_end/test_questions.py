"""The seventeen questions on the incidents of examples/: the results follow from the script.

questions.txt has question, SQL and rows; times are of 2026-11-21, UTC.  README.md and docs/ show
results from the same lake: the tests run their commands and compare the output.
"""

import contextlib
import io
import re
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.command_line import cli
from jobs.configuration.config import Engine, load_config
from jobs.console.printing import Format, print_rows
from jobs.engine.session import build_session
from jobs.lake.existing import open_existing_lake
from jobs.lake.sql import existing_tables, query
from jobs.lake.tables import schema_of
from jobs.nightly_run import advice_step
from jobs.register import RegisterOptions, register_in
from jobs.report import queries
from jobs.report.lake import ReportLake
from jobs.report.window import ReportWindow
from jobs.what_if import command as what_if
from schemas import table_names, view_columns, view_names
from tests.engines import spark_only
from tools.sql_engines.rows import comparable
from tools.sql_engines.statements import statements

ROOT = Path(__file__).parents[2]
QUESTIONS = Path(__file__).with_name("questions.txt").read_text(encoding="utf-8")
DATABASE = "questions"
in_metastore = spark_only("Spark's metastore")


def _cases():
    for block in QUESTIONS.split("\n\n"):
        head, rest = block.strip("\n").split("\n", 1)
        sql, rows = rest.split("\n----\n")
        yield pytest.param(sql, rows, id=head.removeprefix("# ").split(":")[0])


# setting          basis      rebalances  not stable  moved  unavailable
WHAT_IF = """
unchanged          observed   21          64568       246    759264
unchanged          model      20          60000       240    750000
membership=static  predicted  4           11000       16     330000
protocol=coop      predicted  23          66000       61     400000"""
PLANTED = {"cluster_id": "planted", "group_id": "billing-eager"}
SPAN = {
    "from_time": datetime(2026, 11, 21, 1, 10, tzinfo=UTC),
    "to_time": datetime(2026, 11, 21, 1, 14, tzinfo=UTC),
}


@pytest.fixture(scope="module")
def lake(demo, tmp_path_factory):
    """The lake of `make demo`, and what-if rows of one group."""
    lake = demo.copy(tmp_path_factory.mktemp("questions"))
    _write(lake.root, "what_if", [_what_if(*line.split()) for line in WHAT_IF.split("\n")[1:]])
    advice = {"setting": "membership=static", "sentence": "restarts come back in time"}
    advice |= {"risk": "sessions"}
    saved = {"saved_unowned_partition_ms": 420000, "saved_not_stable_ms": 49000}
    saved |= {"saved_rebalances": 16, "share_saved": 0.56}
    _write(lake.root, "advice", [PLANTED | SPAN | advice | saved])
    _write(lake.root, "group_snapshots", [])  # tests/jobs/test_snapshot.py has rows
    _write(lake.root, "end_offsets", [])  # tests/jobs/test_views.py has rows
    return lake


def _what_if(setting, basis, *figures):
    names = ["rebalances", "not_stable_ms", "moved_partitions", "unowned_partition_ms"]
    row = PLANTED | SPAN | {"setting": setting, "basis": basis, "seeds": 3, "era": "3.9"}
    for name, figure in zip(names, map(int, figures), strict=True):
        row |= {name: figure, f"{name}_min": figure - 1, f"{name}_max": figure + 1}
    return row


def _write(root, table, rows):
    schema = to_arrow_schema(schema_of(table), timezone="UTC")
    data = pa.Table.from_pylist(rows, schema)
    write_deltalake(f"{root}/{table}", data, partition_by=["cluster_id"])


@pytest.fixture(scope="module")
def spark(lake, config):
    """A session in whose catalog the lake is registered, and each table read once."""
    session = build_session(config)
    list(register_in(session, RegisterOptions(lake.root, DATABASE)))
    for name in table_names():
        if session.catalog.tableExists(f"{DATABASE}.{name}"):
            session.catalog.cacheTable(f"{DATABASE}.{name}")
    return session


def _text(value):
    if value is None:
        return "-"
    if isinstance(value, datetime):
        short = value.strftime("%d %H:%M:%S.%f")[:-3]
        return short.removeprefix("21 ")
    return str(value)


@pytest.mark.parametrize(("sql", "expected"), list(_cases()))
def test_results_follow_from_the_script(lake, sql, expected):
    rows = lake.rows(f"{sql}\nORDER BY ALL")

    table = [[_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    written = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    assert written == expected.splitlines()


def _comparable(rows):
    """Sorted rows as text; floats to nine digits."""
    return sorted(
        tuple(f"{cell:.9g}" if isinstance(cell, float) else str(cell) for cell in row)
        for row in rows
    )


@in_metastore
@pytest.mark.parametrize("view", view_names())
def test_spark_and_duckdb_give_the_same_results(lake, spark, view):
    in_spark = spark.table(f"{DATABASE}.{view}")

    assert in_spark.columns == list(view_columns(view))
    assert _comparable(in_spark.collect()) == _comparable(lake.rows(f"SELECT * FROM {view}"))


@in_metastore
def test_comments_are_in_the_catalog(spark):
    columns = {
        column.name: column for column in spark.catalog.listColumns(f"{DATABASE}.q07_storms")
    }
    table = spark.catalog.getTable(f"{DATABASE}.churn")
    view = spark.catalog.getTable(f"{DATABASE}.q07_storms")

    assert columns["culprits"].description.startswith(
        "processes that triggered the rebalances: one that"
    )
    assert view.description.startswith("rebalance storms: five or more generations")
    assert table.description.startswith("one row per generation: members and partitions that")


# Both engines write equal tables, and commands that read a lake need neither engine.
ONE_ENGINE = pytest.mark.parametrize("engine", ["embedded"], indirect=True, scope="module")


@pytest.fixture(scope="module")
def reader(demo, tmp_path_factory):
    """A folder like a checkout after `make demo`, with the advice for one cluster."""
    folder = tmp_path_factory.mktemp("reader")
    lake = demo.copy(folder / ".demo").root
    config = load_config(None, Engine(demo.engine))
    advice_step.run(open_existing_lake(lake, "kafka-4.1", config), None, None, budget_s=60.0)
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder


def _fenced(page, language):
    """Code blocks of the language, each with the output block right below it."""
    pattern = rf"```{language}\n(.*?)\n```\n\n```\n(.*?)\n```"
    return re.findall(pattern, (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def _commands(*pages):
    """Indented commands of the pages, each with the output block right below it."""
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        for block, printed in re.findall(
            r"((?:^ {4}[^\n]*\n)+)\n```\n(.*?)\n```", text, re.M | re.S
        ):
            command = re.sub("^ {4}", "", block, flags=re.M)
            if command.startswith(".venv/bin/regroup"):
                yield pytest.param(command, printed, id=f"{page}: {command[18:50]}")


def test_all_commands_with_output_in_investigate_md_are_tested():
    page = (ROOT / "docs" / "investigate.md").read_text(encoding="utf-8")

    assert len(list(_commands("docs/investigate.md"))) == page.count("\n```\n\n") == 15


def _words(printed):
    """The words of each line, without rules."""
    lines = [line.split() for line in printed.splitlines()]
    return [words for words in lines if words and not set("".join(words)) <= {"─"}]


def _run_of(words, printed, start):
    """The index from ``start`` on at which ``words`` are consecutive lines of ``printed``."""
    for at in range(start, len(printed) - len(words) + 1):
        if printed[at : at + len(words)] == words:
            return at
    pytest.fail(f"after line {start} the output lacks: {words[0]} and the lines below it")


@ONE_ENGINE
@pytest.mark.parametrize(
    ("command", "shown"),
    list(_commands("README.md", "docs/coordinator.md", "docs/investigate.md", "docs/tutorial.md")),
)
def test_a_command_prints_the_output_below_it(reader, command, shown, monkeypatch, capsys):
    """Three dots stand for omitted lines.  Stories of replay, and diagrams below the names of their
    lanes, may be parts of the output.
    """
    monkeypatch.chdir(reader)
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr(sys, "argv", shlex.split(command))

    with pytest.raises(SystemExit):
        cli.main()

    output = capsys.readouterr()
    printed = _words(output.out)
    runs = [_words(lines) for lines in re.split(r"^ *\.\.\.$", shown, flags=re.M)]
    if len(runs) == 1 and not re.search(r"regroup (replay|scenario diagram)", command):
        assert printed == runs[0], output.err
    if runs[0][0][-2:] == ["coordinator", "log"]:
        runs[:1] = [runs[0][:1], runs[0][1:]]
    at = 0
    for words in runs:
        at = _run_of(words, printed, at) + len(words)


def test_page_sql_and_what_if_have_the_same_partition_downtime(reader):
    cluster, lake = "kafka-4.1", str(reader / ".demo" / "lake")
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| ([\w-]+) \| ([\d,]+) \|$", text, re.M)

    by_sql = dict(
        query(
            lake,
            "SELECT group_id, SUM(unowned_ms) FROM ownership_gaps "
            f"WHERE cluster_id = '{cluster}' GROUP BY group_id ORDER BY group_id",
        )[1]
    )
    overview = ReportLake(lake, cluster, None, ReportWindow()).rows(queries.OVERVIEW).dicts()
    by_report = {row["group_id"]: row["unowned_partition_ms"] for row in overview}
    by_what_if = {
        group: what_if.evaluate(
            what_if.WhatIfOptions(
                lake=lake,
                cluster_id=cluster,
                group_id=group,
                settings=("membership=static",),
                seeds=1,
            )
        ).observed.unavailable_partition_ms
        for group in by_report
    }

    assert [(group, f"{ms:,}") for group, ms in by_sql.items()] == shown
    assert by_report == by_sql == by_what_if


@ONE_ENGINE
@pytest.mark.parametrize(("sql", "answer"), _fenced("docs/sql.md", "sql"))
def test_results_in_sql_md_are_those_of_the_demo_lake(reader, sql, answer):
    printed = io.StringIO()

    print_rows(*query(str(reader / ".demo" / "lake"), sql), Format.TABLE, printed)

    assert _words(printed.getvalue()) == _words(answer)


@ONE_ENGINE
def test_polars_and_duckdb_read_the_same_rows(demo):
    tables = existing_tables(demo.root)
    for table in tables:
        sql = statements()[f"table {table}"]
        context = pl.SQLContext({table: pl.scan_delta(f"{demo.root}/{table}")})

        in_polars = context.execute(sql).collect().rows()
        assert comparable(in_polars) == comparable(demo.rows(sql)), table
    assert {"generations", "churn", "committed_offsets", "ownership_gaps"} <= set(tables)


def test_sql_md_queries_every_question():
    page = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")

    views = [view for view in view_names() if re.match(r"q\d\d_", view)]
    assert [view for view in views if view not in page] == []


@ONE_ENGINE
@pytest.mark.parametrize(("code", "printed"), _fenced("docs/sql.md", "python"))
def test_snippets_in_sql_md_print_their_output(reader, monkeypatch, code, printed):
    monkeypatch.chdir(reader)
    out = io.StringIO()

    with contextlib.redirect_stdout(out):
        exec(code, {})

    assert out.getvalue().split() == printed.split()
