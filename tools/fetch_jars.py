"""Fetch the jars of a Kafka broker into .jars/broker/, for tests and benchmarks.

Scala's library is not listed: the resolver never fetches it, and the broker uses Spark's.
"""

from __future__ import annotations

from pathlib import Path

from jobs.engine.jars import fetch

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
BROKER_JARS = Path(__file__).resolve().parent.parent / ".jars" / "broker"

if __name__ == "__main__":
    fetch(KAFKA_BROKER.split(), BROKER_JARS)
