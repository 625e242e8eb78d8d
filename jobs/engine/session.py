"""Opens the session of a command's engine, and builds Spark's: Delta, UTC, settings of conf/."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark
from pyspark import SparkConf
from pyspark.sql import SparkSession

from jobs.configuration.config import Config, Engine
from jobs.configuration.distributions import INSTALL_SPARK, NO_SPARK, has_spark
from jobs.console.engine_messages import silence
from jobs.console.errors import UsageError
from jobs.console.interrupt import handle_ctrl_c_in_embedded, handle_ctrl_c_in_spark
from jobs.console.secrets import SECRET_NAMES
from jobs.engine.choice import JAR_SETTINGS, Workload, choose, is_submitted
from jobs.engine.driver_jvm import (
    driver_settings,
    forget_ended_jvm,
    has_private_settings,
    is_local,
    keep_members,
    print_no_lost_connections,
    start_jvm,
)
from jobs.engine.embedded import (
    SPARK_CONNECT_MODE,
    WITHOUT_CALL_SITES,
    embedded_session,
    reconnect,
)
from jobs.engine.jars import jars_folder

# Settings that the jobs need; the configuration cannot change them.
REQUIRED = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    **WITHOUT_CALL_SITES,
}


# Values that Spark's user interface and event log hide; the configuration may name more.
DEFAULTS = {"spark.redaction.regex": SECRET_NAMES}


def open_session(config: Config, workload: Workload) -> SparkSession:
    """A session of the engine that `choose` returns; see there for errors."""
    if choose(config, workload) is Engine.SPARK:
        return build_session(config)
    silence()
    session = embedded_session()
    handle_ctrl_c_in_embedded(session, lambda: reconnect(session))
    return session


def build_session(config: Config, app_name: str = "regroup") -> SparkSession:
    """A Spark session with Delta.  Raises UsageError if Delta's jars are missing.

    The configuration names the jars (``spark.jars.packages``, as in conf/cluster.toml), else they
    come from the folder of `regroup jars`.  Settings of spark-submit have priority over ``config``.
    Raises UsageError if PySpark is missing.
    """
    if not has_spark():
        raise UsageError(f"this needs Spark, and {NO_SPARK}: {INSTALL_SPARK}")
    # This variable has the port of an embedded session in this process.
    os.environ.pop(SPARK_CONNECT_MODE, None)
    # Workers must use the interpreter that has the project's packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = is_submitted()
    forget_ended_jvm()
    settings = {**DEFAULTS, **config.spark, **REQUIRED} if submitted else _standalone(config)
    if not submitted and (is_local(settings) or has_private_settings(settings)):
        start_jvm(settings)
    submit_conf = SparkConf()
    builder = SparkSession.builder.appName(app_name)
    for name, value in settings.items():
        if not (submitted and submit_conf.contains(name)):
            builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(config.log_level)
    keep_members(session.sparkContext)
    print_no_lost_connections(session.sparkContext)
    handle_ctrl_c_in_spark(session)
    return session


def _standalone(config: Config) -> dict[str, str]:
    settings = {**DEFAULTS, **config.spark, **REQUIRED}
    jars = [] if settings.keys() & JAR_SETTINGS else _jars()
    if is_local(settings):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # No server may listen on the network.
        return settings | driver_settings(settings, jars, jars_folder())
    return settings | ({"spark.jars": ",".join(jars)} if jars else {})


def _jars() -> list[str]:
    """The jars of `regroup jars`.  Raises UsageError if neither these nor Spark's own jars have
    Delta.
    """
    folder = jars_folder()
    spark_home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    if not any(any(place.glob("*delta-spark_*.jar")) for place in (folder, spark_home / "jars")):
        raise UsageError(f"no jars of Delta Lake in {folder}: run `regroup jars` to fetch them")
    return sorted(str(jar) for jar in folder.glob("*.jar"))
