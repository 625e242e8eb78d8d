"""Runs each symptom of schemas/known_problems on a lake: its rows, its time, the findings.

.venv/bin/python -m tools.known_problems LAKE CLUSTER_ID [PROBLEM...]
"""

from __future__ import annotations

import sys
import time
from functools import partial

from jobs.configuration.config import Engine, load_config
from jobs.known_problems.rows import findings_of
from jobs.known_problems.search import EngineEvidence, may_have_rows
from jobs.lake.existing import open_existing_lake
from schemas.known_problems import problem, problems


def main(root: str, cluster_id: str, *ids: str) -> None:
    lake = open_existing_lake(root, cluster_id, load_config(None, Engine.EMBEDDED))
    evidence = EngineEvidence(lake.read, partial(may_have_rows, lake))
    for each in map(problem, ids) if ids else problems():
        began = time.monotonic()
        rows = evidence.rows(each.symptom)
        took_ms = 1000 * (time.monotonic() - began)
        findings = findings_of([each], evidence, lambda: ())
        print(f"{each.id:<30} {took_ms:6.0f} ms {len(rows):6} rows {len(findings):6} findings")
        for finding in findings:
            print(f"    {finding['confidence']} {finding['summary']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
