"""Put the jars that Spark needs beside its own into .jars/, once, through Spark's own resolver."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from pyspark.sql import SparkSession

PACKAGES = ["io.delta:delta-spark_4.2_2.13:4.4.0"]
# Spark brings its own of these.
EXCLUDED = [
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.parquet:parquet-hadoop",
    "org.apache.logging.log4j:log4j-core",
    "org.apache.logging.log4j:log4j-slf4j2-impl",
    "org.slf4j:slf4j-api",
    "com.fasterxml.jackson.core:jackson-databind",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8",
    "org.roaringbitmap:RoaringBitmap",
    "com.fasterxml.jackson.core:jackson-annotations",
    "com.fasterxml.jackson.core:jackson-core",
    "com.google.code.findbugs:jsr305",
    "org.apache.logging.log4j:log4j-api",
]
JARS = Path(__file__).resolve().parent.parent / ".jars"
DONE = JARS / ".resolved"


def main() -> int:
    wanted = "\n".join(PACKAGES)
    if DONE.exists() and DONE.read_text() == wanted:
        return 0
    shutil.rmtree(JARS, ignore_errors=True)
    JARS.mkdir()
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.jars.packages", ",".join(PACKAGES))
        .config("spark.jars.excludes", ",".join(EXCLUDED))
        .getOrCreate()
    )
    for uri in session.sparkContext.getConf().get("spark.jars", "").split(","):
        source = Path(uri.removeprefix("file://").removeprefix("file:"))
        # Spark's resolver names them group_artifact-version.jar; the short name is enough here.
        shutil.copy(source, JARS / source.name)
    session.stop()
    DONE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
