"""Spark and what belongs to it: the pinned packages, and the jars they need."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from jobs.command_line.config import Config
from jobs.doctor.finding import Finding, failure, ok, warning
from jobs.engine.session import JARS

SETUP = "run `make setup`"
_REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)\s*(?:(==|<)\s*([0-9][0-9.]*))?")


def packages() -> Iterator[Finding]:
    """Every package that Regroup names, in the version it names."""
    try:
        named = requires("regroup") or []
    except PackageNotFoundError:
        yield warning("packages", "regroup itself is not installed, only importable", SETUP)
        return
    wrong = [told for requirement in named if (told := _wrong_with(requirement))]
    if wrong:
        yield failure("packages", "; ".join(wrong), SETUP)
    else:
        spark, delta = version("pyspark"), version("delta-spark")
        yield ok("packages", f"pyspark {spark}, delta-spark {delta}, {len(named)} in all")


def _wrong_with(requirement: str) -> str | None:
    if ";" in requirement:  # for other systems, or an extra
        return None
    found = _REQUIREMENT.match(requirement)
    if found is None:
        return None
    name, relation, wanted = found.groups()
    try:
        there = version(name)
    except PackageNotFoundError:
        return f"{name} is missing"
    return None if fits(there, relation, wanted) else f"{name} is {there}, not {relation}{wanted}"


def fits(there: str, relation: str | None, wanted: str | None) -> bool:
    """Whether a version is the one, below the one, or any, as a requirement says."""
    if relation is None or wanted is None:
        return True
    if relation == "==":
        return there == wanted
    return _numbers(there) < _numbers(wanted)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]


def jars(config: Config, folder: Path = JARS) -> Iterator[Finding]:
    """What Spark does not bring: Delta, the Kafka connector."""
    fetched = config.spark.get("spark.jars.packages")
    if fetched:
        yield ok("jars", f"Spark fetches {fetched} by itself, from a registry that it must reach")
        return
    there = sorted(folder.glob("*.jar"))
    if not there:
        remedy = f'{SETUP}, or have Spark fetch it: "spark.jars.packages" as in conf/cluster.toml'
        yield failure("jars", f"none in {folder}: Spark does not know Delta", remedy)
        return
    broken = [jar.name for jar in there if not zipfile.is_zipfile(jar)]
    missing = [name for name in _noted(folder) if not (folder / name).exists()]
    wrong = [f"{name} is damaged" for name in broken] + [f"{name} is missing" for name in missing]
    wrong += list(_other_versions([jar.name for jar in there]))
    if wrong:
        yield failure("jars", "; ".join(wrong), f"delete {folder}, and {SETUP}")
    else:
        yield ok("jars", f"{len(there)} in {folder}")


def _noted(folder: Path) -> list[str]:
    """Names of the jars that `make setup` put there."""
    note = folder / ".resolved"
    coordinates = note.read_text().split() if note.exists() else []
    parts = [coordinate.split(":") for coordinate in coordinates]
    return [f"{group}_{artifact}-{number}.jar" for group, artifact, number in parts]


def _other_versions(names: list[str]) -> Iterator[str]:
    """Jars of Delta and of the connector that are not of the packages' own version."""
    spark = version("pyspark")
    line = ".".join(spark.split(".")[:2])
    wanted = {
        "delta-spark_": f"delta-spark_{line}_2.13-{version('delta-spark')}.jar",
        "spark-sql-kafka-0-10_": f"spark-sql-kafka-0-10_2.13-{spark}.jar",
    }
    for kind, name in wanted.items():
        found = [jar for jar in names if kind in jar]
        if not any(jar.endswith(name) for jar in found):
            yield f"{name} is not there{f', only {found[0]}' if found else ''}"
