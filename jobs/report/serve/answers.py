"""The views of the server as values that JSON can represent; times are in ms since the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.console.errors import UsageError
from jobs.console.printing import jsonable
from jobs.lake.sql import answer
from jobs.report.data import GROUP_ROOM, cut_timeline, overview, timelines
from jobs.report.lake import ReportLake
from jobs.report.page import page
from jobs.report.serve.live import LiveLake, Version
from jobs.report.serve.summary import SORTED_BY, GroupsAsked
from jobs.report.timeline import group_rows
from jobs.report.window import parse_window
from schemas import view_about, view_names, view_sql

Json = dict[str, Any]

MOST_SECONDS = 20  # of a statement
MEMORY = "150MB"  # of a statement
MOST_ROWS = 1000  # of a list, in one answer
MOST_EXPORTED = 100  # groups in one file


class Answers:
    """The answers of one lake.  UsageError for a cluster or group that the lake does not have."""

    def __init__(self, lake: LiveLake) -> None:
        self._lake = lake

    def status(self, asked: Json) -> Json:
        version = self._lake.version
        return {
            "version": version.number,
            "read_at_ms": int(version.opened_at.timestamp() * 1000),
            "clusters": version.clusters,
            "tables": version.tables,
        }

    def overview(self, asked: Json) -> Json:
        version = self._lake.version
        return {**version.summary(_cluster(version, asked)).overview, "version": version.number}

    def groups(self, asked: Json) -> Json:
        version = self._lake.version
        if asked["sort"] not in SORTED_BY:
            raise UsageError(f"sort {asked['sort']}: give one of {', '.join(SORTED_BY)}")
        return version.summary(_cluster(version, asked)).groups(
            GroupsAsked(
                search=asked["search"],
                sort=asked["sort"],
                is_ascending=asked["ascending"],
                is_folded=asked["fold"],
                fold=asked["of_fold"],
                ids=tuple(asked["group"]),
                limit=asked["limit"],
                offset=asked["offset"],
            )
        )

    def timeline(self, asked: Json) -> Json:
        version = self._lake.version
        lake = _of_group(version, asked)
        (rows,) = group_rows(lake, [asked["group"]])
        return cut_timeline(rows, GROUP_ROOM)

    def sql(self, asked: Json) -> Json:
        rows = answer(
            self._lake.root,
            asked["query"],
            max_rows=MOST_ROWS,
            seconds=MOST_SECONDS,
            memory=MEMORY,
        )
        selected: Json = jsonable(rows._asdict())
        return selected

    def questions(self, asked: Json) -> Json:
        names = [name for name in view_names() if name.startswith("q")]
        return {
            "questions": [
                {"name": name, "about": view_about(name), "sql": view_sql(name)} for name in names
            ]
        }

    def exported(self, asked: Json) -> str:
        """A page for offline use: of these groups, or of those that the list of groups has."""
        version = self._lake.version
        cluster_id = _cluster(version, asked)
        ids = asked["group"]
        if not ids:
            listed = self.groups({**asked, "fold": False, "limit": MOST_EXPORTED})["listed"]
            ids = [row[listed["columns"].index("group_id")] for row in listed["rows"]]
        if len(ids) > MOST_EXPORTED:
            raise UsageError(f"{len(ids)} groups: a file has at most {MOST_EXPORTED}")
        if not ids:
            raise UsageError("no such group; change the search")
        window = parse_window(asked["from"], asked["to"])
        lake = ReportLake(
            self._lake.root, cluster_id, None, window, opened=version.opened, only=ids
        )
        data = overview(lake, cluster_id)
        return page(data | {"timelines": list(timelines(lake, data)), "elsewhere": None})


def _cluster(version: Version, asked: Mapping[str, Any]) -> str:
    cluster_id: str = asked["cluster"] or version.clusters[0]
    return cluster_id


def _of_group(version: Version, asked: Mapping[str, Any]) -> ReportLake:
    window = parse_window(asked.get("from"), asked.get("to"))
    cluster_id = _cluster(version, asked)
    opened = version.opened
    return ReportLake(opened.root, cluster_id, asked["group"], window, opened=opened)
