"""Sections of `regroup --help`."""

from __future__ import annotations

from typing import Any

import typer.core

from jobs.nightly_run.pipeline import JOBS

SECTIONS = {
    "Commands": [
        "investigate",
        "nightly",
        "watch",
        "ingest",
        "snapshot",
        "sql",
        "report",
        "serve",
        "alerts",
        "digest",
        "dashboard",
        "spans",
        "replay",
        "what-if",
        "what-if-sweep",
        "plan",
        "gate",
    ],
    "Lakes and settings": [
        "demo",
        "init",
        "doctor",
        "jars",
        "topic-partitions",
        "simulate",
        "check",
        "maintain",
        "register",
    ],
    "Without a lake": ["decode", "assign", "scenario"],
    "Single jobs of nightly": JOBS,
}


class CommandsBySection(typer.core.TyperGroup):
    """Lists the commands of each section in the help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        limit = formatter.width - width - 6
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    (f"{name:<{width}}", self.commands[name].get_short_help_str(limit))
                    for name in names
                )
