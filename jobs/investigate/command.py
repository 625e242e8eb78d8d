"""`regroup investigate`: one answer from logs and records, or from a lake."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jobs.configuration.config import Config
from jobs.console.errors import RunFailed, UsageError
from jobs.console.printing import Document
from jobs.console.spinner import spinner
from jobs.investigate.answer import Asked, answer_of
from jobs.investigate.documents import as_json, as_markdown, as_text
from jobs.lake.sql import query

TEMPORARY = "investigated"  # cluster id in a temporary lake
DOCUMENTS = {Document.TEXT: as_text, Document.JSON: as_json, Document.MARKDOWN: as_markdown}


@dataclass(frozen=True, kw_only=True)
class InvestigateOptions:
    """Either ``inputs`` or ``lake``; ``cluster_id`` is optional if the lake has one cluster.

    ``inputs`` has options of nightly by name, as texts; options that are not given are None.
    """

    inputs: dict[str, Any]
    lake: str | None = None
    cluster_id: str | None = None
    group_id: str | None = None


def investigate(options: InvestigateOptions, config: Config, document: Document) -> None:
    """Print the answer.  RunFailed, after it, if no input is understood."""
    with spinner("investigate"), _asked(options, config) as asked:
        answer = answer_of(asked)
    sys.stdout.write(DOCUMENTS[document](answer))
    if not any(file["understood"] for file in answer.files):
        raise RunFailed("no line or record in the given files is readable")


@contextmanager
def _asked(options: InvestigateOptions, config: Config) -> Iterator[Asked]:
    """The lake to read: the given one, or a temporary one with the inputs."""
    options_set = [name for name, value in options.inputs.items() if value is not None]
    if options.lake is not None:
        if options_set:
            option = options_set[0].replace("_", "-")
            raise UsageError(
                f"--lake and --{option}: give inputs or a lake; nightly adds inputs to a lake"
            )
        cluster_id = options.cluster_id or _only_cluster(options.lake)
        yield Asked(options.lake, cluster_id, options.group_id)
        return
    if not options_set:
        from jobs.nightly import GIVE_A_SOURCE

        raise UsageError(f"{GIVE_A_SOURCE}, or --lake DIR --cluster-id ID")
    with tempfile.TemporaryDirectory(prefix="regroup-") as folder:
        _fill(folder, options.inputs, config)
        yield Asked(folder, TEMPORARY, options.group_id)


def _fill(lake: str, inputs: dict[str, Any], config: Config) -> None:
    """Run nightly's jobs on the inputs; print errors only."""
    # Import here, because an answer from a lake needs neither Spark nor the jobs.
    from jobs.nightly import NightlyOptions, inputs_of, open_lake_of, run_jobs
    from jobs.nightly_run.pipeline import Progress

    options = NightlyOptions(lake=lake, cluster_id=TEMPORARY, advice=True, **inputs)
    files = inputs_of(options, config)
    run_jobs(open_lake_of(options, files, config), options, files, Progress(io.StringIO()))


def _only_cluster(lake: str) -> str:
    _, rows = query(lake, "SELECT DISTINCT cluster_id FROM ingested_files ORDER BY cluster_id")
    if len(rows) == 1:
        return str(rows[0][0])
    names = ", ".join(str(name) for (name,) in rows)
    raise UsageError(f"--lake {lake}: give --cluster-id, one of {names}")
