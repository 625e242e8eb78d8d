"""An example of every command, shown below its help.  The examples work in the project's folder.

Examples with `.demo/lake` need the lake of `regroup demo`.
"""

from __future__ import annotations

from jobs.nightly_run.pipeline import JOBS

DEMO = "--lake .demo/lake --cluster-id kafka-4.1"
INCIDENT = r"""--lake lake --cluster-id kafka-4.1 \
    --segments examples/mixed-clients-4.1.2/segments \
    --broker-log examples/mixed-clients-4.1.2/server.log"""
CASE = r"""'{"case": "two", "assignor": "range", "topics": {"t": {"partitions": 3}},'\
'"members": [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"]}]}'"""

EXAMPLES = {
    "investigate": "regroup investigate --broker-log examples/mixed-clients-4.1.2/server.log",
    "nightly": f"regroup nightly {INCIDENT}",
    "watch": f"regroup watch {INCIDENT} \\\n    --every 60s --prometheus regroup.prom",
    "ingest": f"regroup ingest {INCIDENT}",
    **{job: f"regroup {job} {DEMO}" for job in JOBS},
    "incident_replay": f"regroup incident_replay {DEMO}",
    "what_if_sweep": f"regroup what_if_sweep {DEMO}",
    "topic-partitions": f"echo orders,16 |\n    regroup topic-partitions {DEMO} --file /dev/stdin",
    "snapshot": "regroup snapshot --lake lake --cluster-id prod --bootstrap localhost:9092 \\\n"
    "    --every 30s --for 10m",
    "sql": 'regroup sql --lake .demo/lake "SELECT * FROM q03_causes LIMIT 5"',
    "register": "regroup register --lake .demo/lake",
    "check": "regroup check --lake .demo/lake",
    "maintain": "regroup maintain --lake .demo/lake --keep-days 90",
    "decode": "regroup decode examples/mixed-clients-4.1.2/segments",
    "assign": f"echo {CASE} |\n    regroup assign",
    "simulate": "regroup simulate --spec examples/fleets/flapping-member.toml --out fleet",
    "replay": "regroup replay --lake .demo/lake --cluster-id kafka-3.9 --group inventory-static",
    "what-if": "regroup what-if --lake .demo/lake --cluster-id kafka-3.9 --group billing-eager "
    "--set membership=static",
    "what-if-sweep": "regroup what-if-sweep --lake .demo/lake --cluster-id kafka-3.9 --seeds 1",
    "plan": "regroup plan --lake .demo/lake --cluster-id kafka-3.9 --group billing-eager",
    "gate": "regroup gate --lake .demo/lake --cluster-id kafka-3.9 --group billing-eager "
    "--since 2026-11-21T00:46",
    "report": "regroup report --lake .demo/lake --cluster-id kafka-3.9 --out report.html",
    "serve": "regroup serve --lake .demo/lake --port 8787",
    "init": "regroup init --out regroup.toml",
    "demo": "regroup demo",
    "jars": "regroup jars",
    "doctor": "regroup doctor --lake .demo/lake --broker-log 'examples/*/server.log'",
    "alerts": "regroup alerts --lake .demo/lake --since 15m",
    "digest": "regroup digest --lake .demo/lake --since 24h",
    "dashboard": "regroup dashboard --out regroup.json --rules regroup.yml",
    "spans": f"regroup spans {DEMO} --endpoint http://localhost:4318",
    "scenario run": "regroup scenario run --era 4.1 examples/situations/01-first-member.json",
    "scenario diagram": "regroup scenario diagram --era 2.0 "
    "examples/situations/18-followers-lost.json",
}


def epilog(command: str) -> str | None:
    """The text below the help of a command, with its line breaks, or None without an example."""
    example = EXAMPLES.get(command)
    # \b prevents wrapping of the next paragraph.
    return example and f"\b\nExample:\n  {example.replace(chr(10), chr(10) + '  ')}"
