"""Check Spark: the pinned Python packages, and the jars that Spark needs."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from jobs.configuration.config import Config
from jobs.configuration.distributions import REGROUP, has_spark, installed
from jobs.configuration.packaged_files import CHECKOUT
from jobs.doctor.results import CheckResult, failure, ok, warning
from jobs.engine.jars import NOTE, file_name, jars_folder

SETUP = "run `make setup`" if CHECKOUT else "install it again: pip install --force-reinstall"
FETCH_JARS = "run `regroup jars`"
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_LIMIT = re.compile(r"(==|<|>=)\s*([0-9][0-9.]*)")


def packages() -> Iterator[CheckResult]:
    """Check that each required package is installed in its required version."""
    # A checkout has the metadata of the distribution regroup.
    name = next(iter(installed()), REGROUP)
    try:
        requirements = requires(name) or []
    except PackageNotFoundError:
        yield warning("packages", "regroup can be imported, but is not installed", SETUP)
        return
    problems = [problem for each in requirements if (problem := _problem_with(each))]
    if problems:
        yield failure("packages", "; ".join(problems), SETUP)
    else:
        count = sum(";" not in each for each in requirements)
        main = ("pyspark", "delta-spark") if has_spark() else ("pyspark-client", "pysail")
        yield ok(
            "packages", ", ".join(f"{each} {version(each)}" for each in main) + f", {count} in all"
        )


def _problem_with(requirement: str) -> str | None:
    if ";" in requirement:  # The requirement applies to other systems, or to an extra.
        return None
    match = _NAME.match(requirement)
    if match is None:
        return None
    name = match[0]
    try:
        present = version(name)
    except PackageNotFoundError:
        return f"{name} is missing"
    for relation, limit in _LIMIT.findall(requirement):
        if not fits(present, relation, limit):
            return f"{name} is {present}, not {relation}{limit}"
    return None


def fits(present: str, relation: str, limit: str) -> bool:
    """``relation``: ``==``, ``<`` or ``>=``."""
    if relation == "==":
        return present == limit
    return (_numbers(present) < _numbers(limit)) == (relation == "<")


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]


def jars(config: Config, folder: Path | None = None) -> Iterator[CheckResult]:
    """Check the jars that PySpark does not include: Delta and the Kafka connector."""
    fetched = config.spark.get("spark.jars.packages")
    if fetched:
        yield ok("jars", f"Spark itself downloads {fetched}; it needs access to a Maven registry")
        return
    folder = folder or jars_folder()
    present = sorted(folder.glob("*.jar"))
    if not present:
        packages = '"spark.jars.packages" as in conf/cluster.toml'
        remedy = f"{FETCH_JARS}, or let Spark download them: {packages}"
        yield failure("jars", f"no jars in {folder}: Spark cannot read Delta tables", remedy)
        return
    broken = [jar.name for jar in present if not zipfile.is_zipfile(jar)]
    missing = [name for name in _fetched_jars(folder) if not (folder / name).exists()]
    problems = [f"{name} is damaged" for name in broken]
    problems += [f"{name} is missing" for name in missing]
    problems += _other_versions([jar.name for jar in present])
    if problems:
        yield failure("jars", "; ".join(problems), FETCH_JARS)
    else:
        yield ok("jars", f"{len(present)} in {folder}")


def _fetched_jars(folder: Path) -> list[str]:
    """Names of the jars that `regroup jars` fetched."""
    note = folder / NOTE
    return list(map(file_name, note.read_text().split())) if note.exists() else []


def _other_versions(names: list[str]) -> Iterator[str]:
    """Problems with the jars of Delta and the Kafka connector, whose versions must equal the
    versions of the Python packages.
    """
    spark = version("pyspark")
    line = ".".join(spark.split(".")[:2])
    required = {
        "delta-spark_": f"delta-spark_{line}_2.13-{version('delta-spark')}.jar",
        "spark-sql-kafka-0-10_": f"spark-sql-kafka-0-10_2.13-{spark}.jar",
    }
    for kind, name in required.items():
        jars_of_kind = [jar for jar in names if kind in jar]
        if not any(jar.endswith(name) for jar in jars_of_kind):
            yield f"{name} is missing{f', only {jars_of_kind[0]}' if jars_of_kind else ''}"
