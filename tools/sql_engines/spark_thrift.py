"""Spark's Thrift server over the database of `regroup register`, asked through beeline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark

from tools.kafka_broker import free_ports
from tools.sql_engines.rows import Rows, comparable
from tools.sql_engines.server import running

ROOT = Path(__file__).parents[2]
SPARK = Path(pyspark.__file__).parent
SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
# One JSON text per row keeps the types of the values, which beeline's table would lose.
AS_JSON = (
    "SELECT to_json(struct(*), map('ignoreNullFields', 'false', "
    "'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) FROM ({sql});"
)
SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.databricks.delta.snapshotPartitions": "1",
}
BEGIN, END = "begin: ", "end: "


def answers(lake: Path, work: Path, statements: Mapping[str, str]) -> dict[str, Rows | str]:
    """With an embedded metastore in ``work``, which one process at a time opens."""
    return answers_with(embedded_metastore(work), lake, work, statements)


def embedded_metastore(work: Path) -> dict[str, str]:
    metastore = f"jdbc:derby:;databaseName={work / 'metastore'};create=true"
    return {"spark.hadoop.javax.jdo.option.ConnectionURL": metastore}


def answers_with(
    metastore: Mapping[str, str], lake: Path, work: Path, statements: Mapping[str, str]
) -> dict[str, Rows | str]:
    """``metastore``: Spark's settings of its connection."""
    settings = SETTINGS | metastore | {"spark.sql.warehouse.dir": str(work / "warehouse")}
    _register(lake, work, settings)
    (port,) = free_ports(1)
    url = f"jdbc:hive2://127.0.0.1:{port}/regroup"
    started = "HiveThriftServer2 started"
    command, log = _server(work, settings, port), work / "spark.log"
    with running(command, log, _environment(), lambda text: started in text):
        printed = _beeline(url, work, statements)
    return _read(printed, statements)


def _register(lake: Path, work: Path, settings: Mapping[str, str]) -> None:
    conf = work / "register.toml"
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    conf.write_text("\n".join(["[spark]", *lines]) + "\n", encoding="utf-8")
    command = [str(Path(sys.executable).with_name("regroup")), "register"]
    command += ["--lake", str(lake), "--database", "regroup", "--conf", str(conf)]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr[-2000:]}")


def _server(work: Path, settings: Mapping[str, str], port: int) -> list[str]:
    conf = work / "spark.conf"
    defaults = (ROOT / "conf" / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    # The jars of `regroup jars` are on the class path, so no jars are resolved.
    lines = [line for line in defaults if "spark.jars.packages" not in line]
    lines += [f"{key} {value}" for key, value in settings.items()]
    conf.write_text("\n".join(lines) + "\n", encoding="utf-8")
    jars = ":".join(map(str, sorted((ROOT / ".jars").glob("*.jar"))))
    return [
        str(SPARK / "bin" / "spark-submit"), "--properties-file", str(conf),
        "--driver-class-path", jars, "--class", SERVER, "spark-internal",
        "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1",
        "--hiveconf", f"hive.server2.thrift.port={port}",
    ]  # fmt: skip


def _environment() -> dict[str, str]:
    return {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}


def _beeline(url: str, work: Path, statements: Mapping[str, str]) -> str:
    script = work / "statements.sql"
    lines = [
        f"SELECT '{BEGIN}{number}';\n{AS_JSON.format(sql=sql)}\nSELECT '{END}{number}';\n"
        for number, sql in enumerate(statements.values())
    ]
    script.write_text("".join(lines), encoding="utf-8")
    command = [str(SPARK / "bin" / "beeline"), "-u", url, "-f", str(script)]
    command += ["--silent=true", "--outputformat=tsv2"]  # Without a header, rows are missing.
    with (work / "beeline.log").open("wb") as log:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=log, check=False, env=_environment()
        )
    return done.stdout.decode()


def _read(printed: str, statements: Mapping[str, str]) -> dict[str, Rows | str]:
    """Rows between the marks of each statement; beeline stops at the first error."""
    names = list(statements)
    answered: dict[str, Rows | str] = dict.fromkeys(statements, "no answer: see beeline.log")
    rows: list[list[object]] = []
    for line in printed.splitlines():
        if line.startswith(BEGIN):
            rows = []
        elif line.startswith(END):
            answered[names[int(line.removeprefix(END))]] = comparable(rows)
        elif line.startswith("{"):
            rows.append(list(json.loads(line).values()))
    return answered
