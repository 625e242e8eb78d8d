"""Tells which distribution of this project is installed: regroup, or regroup-embedded without
Spark.

Both distributions have the package regroup, and both pyspark and pyspark-client have the package
pyspark.  If both are installed, the second overwrites files of the first, and uninstalling either
one removes these files.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

REGROUP, EMBEDDED = "regroup", "regroup-embedded"
BOTH = (
    "regroup and regroup-embedded are both installed, and overwrite each other: `pip uninstall"
    " --yes regroup regroup-embedded pyspark pyspark-client`, then install one of them"
)
NO_SPARK = "regroup-embedded has no Spark"
INSTALL_SPARK = "`pip uninstall --yes regroup-embedded pyspark-client`, then `pip install regroup`"
_SITE = Path(__file__).resolve().parents[3]  # site-packages; in a checkout, a folder above it


def installed(folder: Path = _SITE) -> list[str]:
    """The distributions whose wheels are installed in the folder; none for a checkout."""
    return [
        name
        for name in (REGROUP, EMBEDDED)
        if any(folder.glob(f"{name.replace('-', '_')}-*.dist-info"))
    ]


def has_spark() -> bool:
    """Returns whether PySpark can start a JVM; the client of Spark Connect has no Py4J."""
    return find_spec("py4j") is not None
