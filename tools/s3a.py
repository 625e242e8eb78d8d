"""Hadoop's S3 file system for Spark: its jars, fetched into .jars/s3a, and Spark's settings.

    python -m tools.s3a

s3a_jars.sha256 lists the jars, in the Hadoop version of PySpark's jars.  Amazon's library alone has
686 MB, so `make setup` does not fetch them.
"""

from __future__ import annotations

from pathlib import Path

from jobs.configuration.packaged_files import CONF
from jobs.engine.jars import fetch

TOOLS = Path(__file__).resolve().parent
FOLDER = TOOLS.parent / ".jars" / "s3a"
_SECTION = "[spark]\n"


def s3a_jars() -> dict[str, str]:
    """Coordinates, and the SHA-256 of each jar."""
    lines = (TOOLS / "s3a_jars.sha256").read_text(encoding="utf-8").splitlines()
    return {coordinate: digest for digest, coordinate in map(str.split, lines)}


def write_configuration(file: Path) -> Path:
    """Write conf/local.toml with the settings that an S3 store needs; returns ``file``."""
    local = (CONF / "local.toml").read_text(encoding="utf-8")
    settings = (
        f'spark.driver.extraClassPath = "{FOLDER}/*"\n'
        # Implementation for the URI that the embedded engine uses for the same lake.
        'spark.hadoop.fs.s3.impl = "org.apache.hadoop.fs.s3a.S3AFileSystem"\n'
        # A server with an IP address has no host name per bucket.
        "spark.hadoop.fs.s3a.path.style.access = true\n"
    )
    file.write_text(local.replace(_SECTION, _SECTION + settings, 1), encoding="utf-8")
    return file


if __name__ == "__main__":
    fetch(s3a_jars(), FOLDER)
