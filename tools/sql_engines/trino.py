"""Trino's Delta Lake connector with a metastore of files; the views translated to Trino's SQL.

The server is the tarball of Maven Central; a Java of its own version is named by TRINO_JAVA_HOME.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import urllib.request
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schemas import table_names, view_sql, views_in_order
from tools.kafka_broker import free_ports
from tools.sql_engines.rows import Rows, comparable
from tools.sql_engines.server import running

VERSION = "476"
NEEDS_JAVA = f"trino: set TRINO_JAVA_HOME; Trino {VERSION} needs Java 24 or newer"
SQLGLOT = "sqlglot==30.30.0"
CATALOG = """
connector.name=delta_lake
hive.metastore=file
hive.metastore.catalog.dir=local:///metastore
fs.native-local.enabled=true
local.location={work}
delta.register-table-procedure.enabled=true
"""
SERVER = """
coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
discovery.uri=http://127.0.0.1:{port}
catalog.config-dir={work}/catalog
"""
OPTIONS = [
    "-Xmx2g", "-Djdk.attach.allowAttachSelf=true", "--add-modules=jdk.incubator.vector",
    "-Dnode.environment=regroup", "-Dnode.bind-ip=127.0.0.1", "-Dnode.internal-address=127.0.0.1",
]  # fmt: skip


def answers(lake: Path, work: Path, statements: Mapping[str, str]) -> dict[str, Rows | str]:
    java = os.environ.get("TRINO_JAVA_HOME")
    if java is None:
        raise SystemExit(NEEDS_JAVA)
    build = work.parent
    folder = work / "trino"
    (folder / "catalog").mkdir(parents=True)
    (folder / "lake").symlink_to(lake)
    (port,) = free_ports(1)
    (folder / "catalog" / "delta.properties").write_text(CATALOG.format(work=folder))
    (folder / "config.properties").write_text(SERVER.format(port=port, work=folder))
    command = _server(java, _installed(build), folder)
    with running(command, work / "trino.log", os.environ, lambda text: "SERVER STARTED" in text):
        _create_all(port, build)
        in_trino = _translated(build, statements)
        return {name: comparable(_ask(port, in_trino[name])) for name in statements}


def _server(java: str, installed: Path, folder: Path) -> list[str]:
    own = [
        f"-Dconfig={folder}/config.properties",
        f"-Dnode.data-dir={folder}/data",
        f"-Dplugin.dir={folder}/plugin",
    ]
    (folder / "plugin").mkdir()
    (folder / "plugin" / "delta-lake").symlink_to(installed / "plugin" / "delta-lake")
    classes = ["-cp", f"{installed}/lib/*", "io.trino.server.TrinoServer"]
    return [f"{java}/bin/java", *OPTIONS, *own, *classes]


def _installed(build: Path) -> Path:
    """The server's and the connector's jars; the archive, 800 MB, is fetched by Maven once."""
    target = build / f"trino-server-{VERSION}"
    if not target.is_dir():
        _unpack(_fetched(build), build)
    return target


def _fetched(build: Path) -> Path:
    subprocess.run(
        ["mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy",
         f"-Dartifact=io.trino:trino-server:{VERSION}:tar.gz", f"-DoutputDirectory={build}"],
        check=True,
    )  # fmt: skip
    return build / f"trino-server-{VERSION}.tar.gz"


def _unpack(archive: Path, build: Path) -> None:
    """Jars of plugins are hard links to those of the server, which Maven unpacks as empty files."""
    with tarfile.open(archive) as members:
        for member in members:
            if member.name.split("/", 1)[-1].startswith(("lib/", "plugin/delta-lake/")):
                members.extract(member, build, filter="data")


def _create_all(port: int, build: Path) -> None:
    _ask(port, "CREATE SCHEMA regroup WITH (location = 'local:///regroup')")
    for table in table_names():
        place = f"'regroup', '{table}', 'local:///lake/{table}'"
        _ask(port, f"CALL delta.system.register_table({place})")
    views = _translated(build, {view: view_sql(view) for view in views_in_order()})
    for view, sql in views.items():
        _ask(port, f"CREATE VIEW {view} AS {sql}")


def _translated(build: Path, statements: Mapping[str, str]) -> dict[str, str]:
    """The statements in Trino's SQL, by sqlglot in an environment of its own."""
    python = build / "sqlglot" / "bin" / "python"
    if not python.exists():
        venv.create(build / "sqlglot", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", SQLGLOT], check=True)
    done = subprocess.run(
        [python, str(Path(__file__).with_name("translate.py"))],
        input=json.dumps(statements), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def _ask(port: int, sql: str) -> list[list[Any]]:
    """Rows by the protocol of Trino's clients: a statement, then pages until there is no next."""
    headers = {"X-Trino-User": "regroup", "X-Trino-Catalog": "delta", "X-Trino-Schema": "regroup"}
    headers["X-Trino-Time-Zone"] = "UTC"
    address = f"http://127.0.0.1:{port}/v1/statement"
    page = _page(urllib.request.Request(address, data=sql.encode(), headers=headers))
    columns, rows = page.get("columns"), page.get("data", [])
    while "nextUri" in page:
        page = _page(urllib.request.Request(page["nextUri"]))
        columns = page.get("columns", columns)
        rows += page.get("data", [])
    return [
        [_value(cell, of["type"]) for cell, of in zip(row, columns, strict=True)] for row in rows
    ]


def _page(request: urllib.request.Request) -> dict[str, Any]:
    with urllib.request.urlopen(request) as response:
        page: dict[str, Any] = json.load(response)
    if "error" in page:
        raise SystemExit(f"Trino: {page['error']['message']}")
    return page


def _value(cell: Any, type_: str) -> Any:
    """Times as other engines return them: without the zone, UTC, to the millisecond."""
    if isinstance(cell, str) and "timestamp" in type_:
        return cell.removesuffix(" UTC")[:23]
    if isinstance(cell, str) and type_.startswith("decimal"):
        return float(cell)
    if isinstance(cell, list):
        return [_value(item, type_) for item in cell]
    return cell
