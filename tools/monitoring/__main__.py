"""Loads the metrics, the rules and the dashboard's queries into a real Prometheus.

    python -m tools.monitoring --prometheus FOLDER

One pass of `regroup watch` over an incident writes the metrics, with thresholds at which every
check raises an alert; `regroup dashboard` writes dashboard and rules.  Prometheus scrapes the
metrics on loopback.  Every query of every panel and every variable must have data there, and every
rule must be evaluated without an error.  promtool checks the rules, and Grafana's own types read
the dashboard.  FOLDER has the programs `prometheus` and `promtool`.  Exit 1 if data is missing.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any

import typer

from tools.kafka_broker import free_ports

ROOT = Path(__file__).resolve().parents[2]
INCIDENT = ROOT / "examples" / "mixed-clients-4.1.2"
SENSITIVE = Path(__file__).with_name("sensitive.toml")
SCHEMA = Path(__file__).with_name("schema")
SCRAPES = 3  # number of scrapes; increase() needs two
WAIT_S = 120
# Every rebalance of the incident moves a partition.
MOVED_NOTHING = (
    'regroup_alert_value{alert="moved_nothing",cluster_id="demo",'
    'group_id="billing-eager",process=""} 5\n'
)
CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: regroup
    metrics_path: /regroup.prom
    static_configs: [{{targets: ['127.0.0.1:{port}']}}]
"""


def main(
    prometheus: Annotated[Path, typer.Option(help="Folder with prometheus and promtool.")],
) -> None:
    with tempfile.TemporaryDirectory(prefix="regroup-monitoring-") as name:
        folder = Path(name)
        write_files(folder)
        subprocess.run(
            [prometheus / "promtool", "check", "rules", folder / "rules.yml"], check=True
        )
        subprocess.run(["go", "run", ".", folder / "dashboard.json"], cwd=SCHEMA, check=True)
        print("the dashboard has the fields of Grafana's schema, and no others")
        with served(folder) as port, server(prometheus, folder, port) as api:
            missing = without_data(api, json.loads((folder / "dashboard.json").read_text()))
            missing += broken_rules(api)
    for each in missing:
        print(f"no data: {each}", file=sys.stderr)
    raise typer.Exit(1 if missing else 0)


def write_files(folder: Path) -> None:
    """metrics/regroup.prom, dashboard.json and rules.yml."""
    (folder / "metrics").mkdir()
    regroup(
        "watch", "--lake", folder / "lake", "--cluster-id", "demo", "--engine", "embedded",
        "--segments", INCIDENT / "segments", "--broker-log", INCIDENT / "server.log",
        "--passes", "1", "--prometheus", folder / "metrics" / "regroup.prom", "--conf", SENSITIVE,
    )  # fmt: skip
    with (folder / "metrics" / "regroup.prom").open("a") as file:
        file.write(MOVED_NOTHING)
    regroup("dashboard", "--out", folder / "dashboard.json", "--rules", folder / "rules.yml")


def regroup(*arguments: object) -> None:
    subprocess.run([ROOT / ".venv/bin/regroup", *map(str, arguments)], check=True)


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """The port on loopback that has the metrics."""

    class Files(SimpleHTTPRequestHandler):
        extensions_map = {".prom": "text/plain; version=0.0.4"}  # noqa: RUF012  as in its base

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder / "metrics"))

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        yield files.server_port
        files.shutdown()


@contextmanager
def server(programs: Path, folder: Path, metrics_port: int) -> Iterator[str]:
    """The address of Prometheus' API, after some scrapes."""
    configuration = folder / "prometheus.yml"
    configuration.write_text(CONFIGURATION.format(rules=folder / "rules.yml", port=metrics_port))
    address = f"127.0.0.1:{free_ports(1)[0]}"
    command = [
        programs / "prometheus", f"--config.file={configuration}",
        f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}",
    ]  # fmt: skip
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        api = f"http://{address}/api/v1"
        wait_for_scrapes(api, process, folder / "prometheus.log")
        yield api
    finally:
        process.terminate()
        process.wait()


def wait_for_scrapes(api: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and process.poll() is None:
        try:
            series = get(api, "query", query="count_over_time(regroup_alerts[1m])")["result"]
        except OSError:
            series = []
        if any(int(each["value"][1]) >= SCRAPES for each in series):
            return
        time.sleep(0.5)
    raise SystemExit(f"Prometheus did not scrape the metrics: {log.read_text()[-2000:]}")


def get(api: str, what: str, **parameters: str) -> Any:
    query = urllib.parse.urlencode(parameters)
    with urllib.request.urlopen(f"{api}/{what}?{query}", timeout=10) as answer:
        return json.load(answer)["data"]


def without_data(api: str, dashboard: dict[str, Any]) -> list[str]:
    """Run every variable and query, print a line for each; those without a value."""
    missing = []
    values: dict[str, str] = {}
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            label = variable["name"]
            (metric,) = re.findall(r"label_values\((\w+), ", variable["query"]["query"])
            choices = get(api, f"label/{label}/values", **{"match[]": metric})
            print(f"variable {label}: {', '.join(choices)}")
            values[label] = "|".join(choices)
            missing += [] if choices else [f"variable {label}"]
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            series = get(api, "query", query=with_values(target["expr"], values))["result"]
            shown = [f"{float(each['value'][1]):g}" for each in series]
            print(f"panel {panel['title']}: {len(series)} series: {', '.join(shown)}")
            missing += [] if series else [f"panel {panel['title']}: {target['expr']}"]
    return missing


def with_values(expression: str, values: dict[str, str]) -> str:
    """The query as Grafana sends it with all values chosen."""
    for name, chosen in values.items():
        expression = expression.replace(f'"${name}"', f'"({chosen})"')
    return expression


def broken_rules(api: str) -> list[str]:
    """Print a line per rule; the rules that were not evaluated."""
    (group,) = get(api, "rules")["groups"]
    for rule in group["rules"]:
        summaries = [alert["annotations"]["summary"] for alert in rule["alerts"]]
        print(f"rule {rule['name']}: {rule['state']}{''.join(f'; {each}' for each in summaries)}")
    return [f"rule {rule['name']}" for rule in group["rules"] if rule["health"] != "ok"]


if __name__ == "__main__":
    typer.run(main)
