"""Put jars beside the project, once, through Spark's own resolver: what Spark needs into .jars/,
with `broker` as argument a Kafka broker for the tests into .jars/broker/.

Every jar is named here with its version and nothing else comes along: what is not named, Spark
itself brings.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from pyspark.java_gateway import launch_gateway

DELTA = """
io.delta:delta-spark_4.2_2.13:4.4.0
io.delta:delta-storage:4.4.0
io.delta:delta-kernel-api:4.4.0
io.delta:delta-kernel-defaults:4.4.0
io.delta:delta-kernel-unitycatalog:4.4.0
io.unitycatalog:unitycatalog-client:0.6.0
io.unitycatalog:unitycatalog-hadoop:0.6.0
"""
# The token provider of the connector's own version is not to be had everywhere; 4.0.0 fits it.
KAFKA_CONNECTOR = """
org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0
org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0
org.apache.kafka:kafka-clients:3.9.2
org.apache.commons:commons-pool2:2.13.1
"""
# The resolver never fetches Scala's library: the broker takes Spark's.
KAFKA_BROKER = """
org.apache.kafka:kafka_2.13:4.1.2
org.apache.kafka:kafka-clients:4.1.2
org.apache.kafka:kafka-coordinator-common:4.1.2
org.apache.kafka:kafka-group-coordinator:4.1.2
org.apache.kafka:kafka-group-coordinator-api:4.1.2
org.apache.kafka:kafka-metadata:4.1.2
org.apache.kafka:kafka-raft:4.1.2
org.apache.kafka:kafka-server:4.1.2
org.apache.kafka:kafka-server-common:4.1.2
org.apache.kafka:kafka-share-coordinator:4.1.2
org.apache.kafka:kafka-storage:4.1.2
org.apache.kafka:kafka-storage-api:4.1.2
org.apache.kafka:kafka-tools-api:4.1.2
org.apache.kafka:kafka-transaction-coordinator:4.1.2
at.yawk.lz4:lz4-java:1.10.1
com.dynatrace.hash4j:hash4j:0.22.0
com.fasterxml.jackson.core:jackson-annotations:2.19.4
com.fasterxml.jackson.core:jackson-core:2.19.4
com.fasterxml.jackson.core:jackson-databind:2.19.4
com.fasterxml.jackson.dataformat:jackson-dataformat-csv:2.19.4
com.fasterxml.jackson.dataformat:jackson-dataformat-yaml:2.19.4
com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.19.4
com.github.ben-manes.caffeine:caffeine:3.2.0
com.github.luben:zstd-jni:1.5.6-10
com.google.re2j:re2j:1.8
com.typesafe.scala-logging:scala-logging_2.13:3.9.5
com.yammer.metrics:metrics-core:2.2.0
commons-beanutils:commons-beanutils:1.11.0
commons-collections:commons-collections:3.2.2
commons-digester:commons-digester:2.1
commons-logging:commons-logging:1.3.5
commons-validator:commons-validator:1.10.1
net.sf.jopt-simple:jopt-simple:5.0.4
net.sourceforge.argparse4j:argparse4j:0.7.0
org.apache.logging.log4j:log4j-api:2.25.3
org.apache.logging.log4j:log4j-core:2.25.3
org.apache.logging.log4j:log4j-slf4j-impl:2.25.3
org.bitbucket.b_c:jose4j:0.9.6
org.hdrhistogram:HdrHistogram:2.2.2
org.jspecify:jspecify:1.0.0
org.pcollections:pcollections:4.0.2
org.scala-lang:scala-reflect:2.13.16
org.slf4j:slf4j-api:1.7.36
org.xerial.snappy:snappy-java:1.1.10.7
org.yaml:snakeyaml:2.4
"""
JARS = Path(__file__).resolve().parent.parent / ".jars"
SETS = {"spark": (JARS, DELTA + KAFKA_CONNECTOR), "broker": (JARS / "broker", KAFKA_BROKER)}


def main(which: str = "spark") -> int:
    folder, wanted = SETS[which]
    done = folder / ".resolved"
    if done.exists() and done.read_text() == wanted:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="regroup-jars-") as home:
        fetched = {Path(jar).name: Path(jar) for jar in resolve(wanted.split(), home)}
        for name, jar in fetched.items():
            if not (folder / name).exists():
                shutil.copy(jar, folder / name)
    for jar in folder.glob("*.jar"):
        if jar.name not in fetched:
            jar.unlink()
    done.write_text(wanted)
    return 0


def resolve(coordinates: list[str], home: str) -> list[str]:
    """Paths of exactly these jars, fetched to below ``home``.

    Not to the user's home: where Maven left a jar's POM there without its jar, the resolver stops.
    """
    jvm = launch_gateway().jvm
    jvm.java.lang.System.setProperty("user.home", home)
    maven, nothing = jvm.org.apache.spark.util.MavenUtils, jvm.scala.Option.empty()
    quiet = jvm.java.io.PrintStream(jvm.java.io.OutputStream.nullOutputStream())
    settings = maven.buildIvySettings(nothing, nothing, True, quiet)
    nothing_excluded = jvm.scala.collection.immutable.List.newBuilder().result()
    found = maven.resolveMavenCoordinates(
        ",".join(coordinates), settings, nothing, False, nothing_excluded, False, quiet
    )
    jars = [found.apply(number) for number in range(found.size())]
    if len(jars) != len(coordinates):
        raise SystemExit(f"fetch_jars: asked for {coordinates}, got {jars}")
    return jars


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
