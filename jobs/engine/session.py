"""The one place that builds a Spark session: Delta on, UTC, the cluster's settings from conf/."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark import SparkConf
from pyspark.sql import SparkSession

from jobs.command_line.config import Config
from jobs.console.interrupt import end_quietly

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".jars"

# What the jobs rely on, whatever the cluster says.
REQUIRED = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def build_session(config: Config, app_name: str = "regroup") -> SparkSession:
    """A session with Delta.

    Jars come from ``.jars`` beside the project (`make setup` fills it), else from the
    configuration (``spark.jars.packages``, as in conf/cluster.toml).  Under spark-submit what that
    was told stands, and ``config`` fills in what it was not.
    """
    # Workers must be the interpreter that has the project's packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = {**config.spark, **REQUIRED} if submitted else _standalone(config)
    told = SparkConf()
    builder = SparkSession.builder.appName(app_name)
    for name, value in settings.items():
        if not (submitted and told.contains(name)):
            builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(config.log_level)
    end_quietly(session)
    return session


def _standalone(config: Config) -> dict[str, str]:
    settings = {**config.spark, **REQUIRED}
    jars = sorted(str(jar) for jar in JARS.glob("*.jar"))
    if jars and "spark.jars.packages" not in settings:
        settings.setdefault("spark.jars", ",".join(jars))
    if settings.get("spark.master", "").startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # no server on the network
        quiet = f"-Dlog4j2.configurationFile={ROOT / 'conf' / 'log4j2.properties'}"
        given = settings.get("spark.driver.extraJavaOptions", "")
        settings["spark.driver.extraJavaOptions"] = f"{given} {quiet}".strip()
    return settings
