"""Asks SQL engines for every table, view and question of one lake, and compares their rows.

    python -m tools.sql_engines [ENGINE...]

Engines: polars, spark (Thrift server and beeline), trino, hive (the same as spark, with a metastore
server).  The expected rows are those of DuckDB.
Prints a line per engine and each difference; exit 1 if there is one.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from jobs.lake.sql import open_lake
from schemas import table_names, view_names
from tools.sql_engines import hive_metastore, in_polars, spark_thrift, trino
from tools.sql_engines.lake import lake_with_every_table
from tools.sql_engines.rows import Rows, comparable
from tools.sql_engines.statements import statements

BUILD = Path(__file__).parents[2] / "build" / "sql-engines"
# Hive's metastore comes last, because the process leaves its network for it.
ENGINES = {"polars": in_polars, "spark": spark_thrift, "trino": trino, "hive": hive_metastore}
KINDS = ("table", "view", "question")


def main() -> int:
    names = sys.argv[1:] or _engines_here()
    lake, work = BUILD / "lake", BUILD / "work"
    for folder in (lake, work):
        shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(parents=True)
    lake_with_every_table(lake)
    asked = statements()
    expected = _in_duckdb(lake, asked)
    _print_row(["engine", *(f"{kind}s" for kind in KINDS), "rows", "differences", "seconds"])
    _print_row(["duckdb", *_counts(asked), _row_count(expected), 0, ""])
    differ = False
    for name in names:
        began = time.monotonic()
        answered = ENGINES[name].answers(lake, work, asked)
        differences = _differences(expected, answered)
        seconds = f"{time.monotonic() - began:.0f}"
        rows = {key: value for key, value in answered.items() if not isinstance(value, str)}
        _print_row([name, *_counts(rows), _row_count(rows), len(differences), seconds])
        print("".join(f"  {line}\n" for line in differences), end="", flush=True)
        differ |= bool(differences)
    return int(differ)


def _engines_here() -> list[str]:
    """The engines that have what they need here; the others are named."""
    missing = {
        "trino": None if "TRINO_JAVA_HOME" in os.environ else trino.NEEDS_JAVA,
        "hive": None if os.geteuid() == 0 else hive_metastore.NEEDS_ROOT,
    }
    for reason in filter(None, missing.values()):
        print(reason, file=sys.stderr)
    return [name for name in ENGINES if not missing.get(name)]


def _in_duckdb(lake: Path, asked: Mapping[str, str]) -> dict[str, Rows]:
    """The rows of `regroup sql`, whose connection has the tables and views named in its SQL."""
    connection = open_lake(str(lake), " ".join([*table_names(), *view_names()]))
    return {name: comparable(connection.execute(sql).fetchall()) for name, sql in asked.items()}


def _counts(answered: Mapping[str, object]) -> list[int]:
    counts = Counter(name.split()[0] for name in answered)
    return [counts[kind] for kind in KINDS]


def _row_count(answered: Mapping[str, object]) -> int:
    return sum(len(rows) for rows in answered.values() if isinstance(rows, list))


def _differences(expected: Mapping[str, Rows], answered: Mapping[str, Rows | str]) -> list[str]:
    """A text per statement without equal rows: the reason, or the first rows that differ."""
    return [
        f"{name}: {_difference(rows, answered[name])}"
        for name, rows in expected.items()
        if answered[name] != rows
    ]


def _difference(expected: Rows, answer: Rows | str) -> str:
    if isinstance(answer, str):
        return answer
    only_here, only_there = sorted(set(answer) - set(expected)), sorted(set(expected) - set(answer))
    examples = "".join(f"\n    {row[:300]}" for row in (*only_here[:1], *only_there[:1]))
    return f"{len(answer)} rows, DuckDB {len(expected)}{examples}"


def _print_row(cells: list[object]) -> None:
    print("".join(f"{cell!s:<12}" for cell in cells).rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
