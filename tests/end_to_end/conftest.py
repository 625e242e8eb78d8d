"""Lakes of incidents, written once for all test processes.  They are read-only: a test that writes
uses a copy.
"""

import fcntl
import os
import re
import shutil
import tarfile
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from jobs.nightly_run.demo import ENGINES, INCIDENTS
from tests.end_to_end.incident_lake import IncidentLake
from tools.kafka_broker import LOGIN, Broker

TWINS = Path(__file__).parents[1] / "data" / "twins"
# Real groups of every type: a folder of tests/data/modern_groups per cluster.
NEW_GROUPS = ("mixed-4.4.0", "mixed-4.1.2", "twins-4.4.0", "twins-4.1.2")
# The name that a broker's start-up lines give its cluster.
CLUSTER_ID = re.compile(r"(?<=Cluster ID = )[\w-]{22}|(?<= in cluster )[\w-]{22}")
ONE_CLUSTER = "twins-as-one-cluster--"
# Clients without a login, and the user regroup, may do everything; the user guest may do what ACLs
# allow.
ACCESS = f"""
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:regroup
listener.name.secured.plain.sasl.jaas.config={LOGIN} user_regroup="secret" user_guest="guest";
"""


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """``made_once(name, make)``: the folder of this name, which `make(folder)` fills."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    def made(name, make):
        finished = folder / name
        with open(folder / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not finished.is_dir():
                partial = folder / f"{name}-partial"
                make(partial)
                partial.rename(finished)
        return finished

    return made


@pytest.fixture(scope="session")
def demo_by(made_once):
    """``demo_by("spark")``: the lake of `make demo`, where Spark continues a lake of the embedded
    engine, after its first run was killed.  ``demo_by("embedded")``: the same by the embedded
    engine alone, without a killed run."""
    (first, incident_of_first), (second, incident_of_second) = INCIDENTS.items()

    def write_first(root):
        IncidentLake(str(root), ENGINES[first]).run_incident(first, incident_of_first)

    def write(engine, root):
        shutil.copytree(made_once("demo-first", write_first), root)
        lake = IncidentLake(str(root), engine)
        if engine == "spark":
            lake.kill_run(second, incident_of_second)
        lake.run_incident(second, incident_of_second)

    @cache
    def written_by(engine):
        return IncidentLake(
            str(made_once(f"demo-{engine}", lambda root: write(engine, root))), engine
        )

    return written_by


@pytest.fixture(scope="module")
def demo(demo_by, engine):
    return demo_by(engine)


@pytest.fixture(scope="session")
def incidents_of(made_once, demo_by):
    """``incidents_of(version)``: the lake of `make demo` by the embedded engine, with a further
    cluster per NEW_GROUPS of this version."""

    def write(version, root):
        lake = demo_by("embedded").copy(root)
        for cluster in NEW_GROUPS:
            if cluster.endswith(version):
                lake.read_modern_groups(cluster)

    def written(version):
        root = made_once(f"incidents-{version}", lambda root: write(version, root))
        return IncidentLake(str(root / "lake"), "embedded")

    return written


@pytest.fixture(scope="session")
def incidents(incidents_of):
    return incidents_of("4.4.0")


@pytest.fixture(scope="session")
def twins_files(made_once):
    """``twins_files(script, version)``: what the brokers of a script left, as one cluster.

    They share no group with members, so it suffices to renumber their partitions of
    __consumer_offsets, and to give their start-up lines one cluster id.
    """

    def unpack(script, version, folder):
        with tarfile.open(TWINS / f"{script}-{version}.tar.gz") as archive:
            archive.extractall(folder / "plays", filter="data")
        (folder / "logs").mkdir()
        numbers = count()
        for partition in sorted((folder / "plays").rglob("__consumer_offsets-*")):
            shutil.copytree(partition, folder / "segments" / f"__consumer_offsets-{next(numbers)}")
        for number, log in enumerate(sorted((folder / "plays").rglob("server*.log"))):
            lines = CLUSTER_ID.sub(ONE_CLUSTER, log.read_text(encoding="utf-8"))
            (folder / "logs" / f"{number}.log").write_text(lines, encoding="utf-8")

    @cache
    def unpacked(script, version):
        name = f"twins-{script}-{version}"
        return made_once(name, lambda folder: unpack(script, version, folder))

    return unpacked


@pytest.fixture(scope="session")
def twins_by(made_once, twins_files):
    """``twins_by(engine, script, version)``: the lake of a script; its cluster is the version."""

    def write(engine, script, version, root):
        files = twins_files(script, version)
        IncidentLake(str(root), engine).run(version, files / "segments", files / "logs")

    @cache
    def written_by(engine, script, version):
        root = made_once(
            f"lake-{engine}-{script}-{version}", lambda root: write(engine, script, version, root)
        )
        return IncidentLake(str(root), engine)

    return written_by


@pytest.fixture(scope="session")
def started_broker(tmp_path_factory):
    """``started_broker(engine)``: a broker for the tests on this engine, with one partition of
    __consumer_offsets."""
    with ExitStack() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")  # The times in the broker's log are from this clock.

        @cache
        def started(engine):
            folder = tmp_path_factory.mktemp("broker")
            return running.enter_context(Broker(folder, offsets_partitions=1, properties=ACCESS))

        yield started
