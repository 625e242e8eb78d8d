"""Source kafka with a real broker: every record once, and missing records are an error."""

import json
import time
from dataclasses import replace
from itertools import chain

import confluent_kafka as ck
import pytest
from confluent_kafka import admin as ck_admin
from deltalake import DeltaTable

from coordinator_core.records import decode
from jobs import ingest
from jobs.bronze import counts, kafka_topic
from jobs.checks.check import broken_laws
from jobs.command_line import cli
from jobs.committed_offsets import with_outcome
from jobs.configuration.config import load_config
from jobs.console.errors import RunFailed
from jobs.engine.embedded import SPARK_CONNECT_MODE, embedded_session
from jobs.engine.session import build_session
from jobs.lake.opening import open_lake
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, inputs_of
from jobs.segments import read_segment
from tests.engines import spark_only
from tools.kafka_broker import LOGIN

LOG = "__consumer_offsets-0"  # the only partition
TABLES = ("offsets_records", "quarantine", "ingested_files")
RECORD = "topic_partition, log_offset, event_date, append_time, key, value, key_type"
LOG_ENDS = "SELECT DISTINCT topic, partition, log_end_offset, source FROM end_offsets ORDER BY ALL"


@pytest.fixture(scope="module")
def broker(started_broker, engine):
    return started_broker(engine)


@pytest.fixture(scope="module")
def clients(broker):
    clients = Clients(broker.bootstrap)
    yield clients
    clients.leave(*clients.consumers)


@pytest.fixture(scope="module")
def spark(engine):
    """The session of the engine."""
    return embedded_session() if engine == "embedded" else build_session(load_config(None))


@pytest.fixture
def lake(spark, tmp_path):
    return open_lake(spark, str(tmp_path / "lake"), "c")


@pytest.fixture(scope="module")
def kept_lake(spark, tmp_path_factory):
    """One lake for several tests; each continues where the previous test ended."""
    return open_lake(spark, str(tmp_path_factory.mktemp("kept") / "lake"), "c")


@pytest.fixture
def member_b(clients):
    """Consumer b is in the group, whichever tests ran before."""
    if "b" not in clients.consumers:
        clients.join("b")


class Clients:
    """Real consumers and producers of librdkafka, polled by the test itself."""

    def __init__(self, bootstrap):
        self.common = {"bootstrap.servers": bootstrap, "log_level": 0}
        self.consumers = {}
        self.admin = ck_admin.AdminClient(self.common)
        self._done(self.admin.create_topics([ck_admin.NewTopic("orders", 6, 1)]))

    def join(self, *names, group="billing"):
        for name in names:
            consumer = ck.Consumer(
                self.common | {"group.id": group, "client.id": name, "enable.auto.commit": False}
            )
            consumer.subscribe(["orders"])
            self.consumers[name] = consumer
        self.settle()

    def allow(self, user, *resources):
        """Let the user describe these resources: pairs of a type and a name."""
        acls = [
            ck_admin.AclBinding(
                getattr(ck_admin.ResourceType, type_),
                name,
                ck_admin.ResourcePatternType.LITERAL,
                f"User:{user}",
                "*",
                ck_admin.AclOperation.DESCRIBE,
                ck_admin.AclPermissionType.ALLOW,
            )
            for type_, name in resources
        ]
        self._done(self.admin.create_acls(acls))

    def leave(self, *names):
        for name in names:
            self.consumers.pop(name).close()
        self.settle()

    def settle(self):
        """Poll until each consumer owns something, and all together the six partitions."""
        deadline = time.monotonic() + 30
        while self.consumers and not self._is_settled():
            assert time.monotonic() < deadline, "the group does not settle"
            for consumer in self.consumers.values():
                consumer.poll(0.05)

    def commit(self, name, offset):
        owned = self.consumers[name].assignment()
        offsets = [ck.TopicPartition("orders", p.partition, offset) for p in owned]
        self.consumers[name].commit(offsets=offsets, asynchronous=False)

    def begin(self, transactional_id, offset):
        """A transaction with one offset commit of the group `shipping` in it."""
        producer = ck.Producer(self.common | {"transactional.id": transactional_id})
        producer.init_transactions(30)
        producer.begin_transaction()
        reader = ck.Consumer(self.common | {"group.id": "shipping"})
        offsets = [ck.TopicPartition("orders", 0, offset)]
        producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata())
        reader.close()
        return producer

    def delete_all_records(self):
        """Delete records by retention; returns the offset of the next record."""
        self._configure({"cleanup.policy": "delete", "retention.ms": "1"})
        reader = ck.Consumer(self.common | {"group.id": "watch"})
        low, high, deadline = 0, 1, time.monotonic() + 30
        while low < high:
            assert time.monotonic() < deadline, "retention deletes nothing"
            time.sleep(0.1)
            low, high = reader.get_watermark_offsets(ck.TopicPartition("__consumer_offsets", 0))
        reader.close()
        self._configure({"cleanup.policy": "compact", "retention.ms": "-1"})
        return high

    def _configure(self, settings):
        entries = [
            ck_admin.ConfigEntry(name, value, incremental_operation=ck_admin.AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        topic = ck_admin.ConfigResource(
            ck_admin.ResourceType.TOPIC, "__consumer_offsets", incremental_configs=entries
        )
        self._done(self.admin.incremental_alter_configs([topic]))

    def _is_settled(self):
        owned = [[p.partition for p in c.assignment()] for c in self.consumers.values()]
        return all(owned) and sorted(chain(*owned)) == list(range(6))

    @staticmethod
    def _done(futures):
        for future in futures.values():
            future.result(30)


def run(lake, broker, **settings):
    request = NightlyOptions(lake=lake.root, cluster_id=lake.cluster_id, kafka=broker.bootstrap)
    ingest.run(lake, inputs_of(request, replace(load_config(None), kafka=settings)))


def run_segments(lake, broker):
    request = NightlyOptions(lake=lake.root, cluster_id=lake.cluster_id, segments=str(broker.data))
    ingest.run(lake, inputs_of(request, load_config(None)))


def rows(lake, sql):
    return query(lake.root, sql)[1]


def landed(lake):
    """Offset, key and value of every data record in the lake."""
    return rows(
        lake,
        "SELECT log_offset, key, value FROM offsets_records WHERE key_type IS NOT NULL ORDER BY 1",
    )


def written(broker):
    """The same from the broker's segment files."""
    return [
        record
        for segment in sorted((broker.data / LOG).glob("*.log"))
        for batch in read_segment(segment.read_bytes(), partition=0, file=str(segment))
        if batch.control is None
        for record in zip(batch.offsets, batch.keys, batch.values, strict=True)
    ]


def commits(lake):
    """The version of each bronze table."""
    return {table: len(DeltaTable(f"{lake.root}/{table}").history()) for table in TABLES}


def test_every_record_is_read_once(broker, clients, kept_lake, tmp_path):
    lake = kept_lake
    clients.join("a", "b")
    clients.commit("a", 0)
    run(lake, broker)
    first, before = landed(lake), commits(lake)
    run(lake, broker)

    assert first == written(broker)
    assert commits(lake) == before, "a run with nothing new changes nothing"
    assert rows(lake, LOG_ENDS) == [("orders", number, 0, "kafka") for number in range(6)]

    clients.join("c")
    clients.leave("a")
    clients.begin("committed", 7).commit_transaction()
    clients.begin("aborted", 8).abort_transaction()
    clients.commit("b", 0)
    run(lake, broker)

    assert landed(lake) == written(broker)
    assert len(landed(lake)) > len(first)
    assert broken_laws(lake.root)[1] == []

    decoded = [
        (decode(row["key"], row["value"]), row["outcome"])
        for row in with_outcome(lake.read("offsets_records")).orderBy("log_offset").collect()
    ]
    of_transactions = [
        (record.value["offset"], outcome)
        for record, outcome in decoded
        if record.key["group"] == "shipping"
    ]
    assert of_transactions == [(7, "plain"), (8, "aborted")]

    by_segments = open_lake(lake.spark, str(tmp_path / "by segments"), "c")
    run_segments(by_segments, broker)
    assert rows(lake, f"SELECT {RECORD} FROM offsets_records ORDER BY log_offset") == rows(
        by_segments,
        f"SELECT {RECORD} FROM offsets_records WHERE control IS NULL ORDER BY log_offset",
    )

    run_segments(lake, broker)
    everything = "SELECT * FROM offsets_records ORDER BY log_offset"
    assert rows(lake, everything) == rows(by_segments, everything), "read twice, stored once"
    assert broken_laws(lake.root)[1] == []


def test_the_next_run_completes_a_run_that_was_killed_before_counting(
    broker, clients, kept_lake, monkeypatch
):
    def die(*_):
        raise RuntimeError("killed")

    lake = kept_lake
    clients.join("a")
    with monkeypatch.context() as patched:
        patched.setattr(counts, "kafka_logs", die)
        with pytest.raises(RuntimeError, match="killed"):
            run(lake, broker)
    clients.commit("a", 0)
    run(lake, broker)

    assert landed(lake) == written(broker)
    counted = rows(lake, "SELECT inputs FROM ingested_files WHERE source = 'kafka'")
    assert counted == [(len(written(broker)),)]
    assert broken_laws(lake.root)[1] == []


@pytest.mark.usefixtures("member_b")
def test_records_of_an_open_transaction_are_read_after_its_end(broker, clients, kept_lake, capfd):
    lake = kept_lake
    run(lake, broker)
    held_from = written(broker)[-1][0] + 1
    producer = clients.begin("open", 9)
    clients.commit("b", 0)
    run(lake, broker)

    assert [record for record in written(broker) if record[0] < held_from] == landed(lake)
    assert f"from offset {held_from} on belong to an open transaction" in capfd.readouterr().err

    producer.commit_transaction()
    run(lake, broker)

    assert landed(lake) == written(broker)


@pytest.mark.usefixtures("member_b")
def test_records_deleted_before_they_were_read_are_quarantined_as_a_gap(broker, clients, kept_lake):
    lake = kept_lake
    clients.commit("b", 0)  # The last item read is a record, not the marker of a transaction.
    run(lake, broker)
    before = landed(lake)
    first = before[-1][0] + 1
    clients.commit("b", 0)
    kept_from = clients.delete_all_records()
    clients.commit("b", 0)
    run(lake, broker)

    kept = [record for record in written(broker) if record[0] >= kept_from]
    assert kept
    assert landed(lake) == [*before, *kept]
    assert rows(lake, "SELECT source, log_offset, reason FROM quarantine") == [
        ("kafka", first, f"deleted before it was read: offsets {first} to {kept_from - 1}")
    ]
    assert broken_laws(lake.root)[1] == []


def test_zero_rows_of_a_log_with_records_is_an_error(broker, clients, lake, monkeypatch):
    monkeypatch.setattr(kafka_topic, "_store_slice", lambda *_: {})

    with pytest.raises(RunFailed, match=r"records between offsets .*, but sent none"):
        run(lake, broker)


def test_a_log_shorter_than_the_last_read_offset_is_an_error(broker, clients, lake, monkeypatch):
    monkeypatch.setattr(kafka_topic, "stored_offsets", lambda _: {0: 1_000_000})

    with pytest.raises(RunFailed, match="read up to offset 1000000, but the broker has"):
        run(lake, broker)


def secured(broker, password="secret", user="regroup"):
    """[kafka] for the broker's listener with TLS and a login."""
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{LOGIN} username="{user}" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(broker.certificate),
    }


def test_records_are_read_over_tls_after_a_login(broker, clients, lake):
    clients.commit("b", 0)
    request = NightlyOptions(
        lake=lake.root, cluster_id=lake.cluster_id, kafka=broker.secured_bootstrap
    )
    ingest.run(lake, inputs_of(request, replace(load_config(None), kafka=secured(broker))))

    assert landed(lake) == written(broker)


def test_a_wrong_password_is_one_line_without_it(broker, lake):
    settings = secured(broker, "wrong") | {"default.api.timeout.ms": "5000"}
    request = NightlyOptions(
        lake=lake.root, cluster_id=lake.cluster_id, kafka=broker.secured_bootstrap
    )
    with pytest.raises(RunFailed, match=r"(?i)authentication") as raised:
        ingest.run(lake, inputs_of(request, replace(load_config(None), kafka=settings)))

    assert "\n" not in str(raised.value)
    assert "wrong" not in str(raised.value)


@spark_only("it runs both engines")
def test_an_engine_continues_where_the_other_stopped(broker, clients, spark, tmp_path, monkeypatch):
    lake = open_lake(spark, str(tmp_path), "c")
    clients.commit("b", 0)
    run(lake, broker)
    first = len(landed(lake))

    clients.commit("b", 1)
    with monkeypatch.context() as patched:
        patched.setenv(SPARK_CONNECT_MODE, "1")
        run(open_lake(embedded_session(), lake.root, "c"), broker)
    second = len(landed(lake))
    before = commits(lake)
    run(lake, broker)

    assert first < second
    assert commits(lake) == before, "Spark has nothing to read"
    assert landed(lake) == written(broker)
    [(inputs, next_offset)] = rows(lake, "SELECT inputs, next_offset FROM ingested_files")
    assert (inputs, next_offset) == (second, written(broker)[-1][0] + 1)
    assert broken_laws(lake.root)[1] == []


def test_an_unreachable_broker_is_one_line_and_exit_1(engine, tmp_path, monkeypatch, capsys):
    conf = tmp_path / "conf.toml"
    conf.write_text('[kafka]\n"default.api.timeout.ms" = 500\n"sasl.jaas.config" = "secret"\n')
    lake = ["--lake", str(tmp_path / "lake"), "--cluster-id", "c", "--engine", engine]
    monkeypatch.setattr(
        "sys.argv", ["regroup", "ingest", *lake, "--kafka", "127.0.0.1:1", "--conf", str(conf)]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()

    error = capsys.readouterr().err
    assert ended.value.code == 1
    assert error.startswith("regroup: --kafka: 127.0.0.1:1 does not answer: Connection refused; ")
    assert error.count("\n") == 1
    assert "secret" not in error


class Group:
    """A group of consumers of `orders`, which shares its six partitions evenly."""

    def __init__(self, bootstrap, name, **settings):
        self._settings = {"bootstrap.servers": bootstrap, "log_level": 0, "group.id": name}
        self._settings |= settings
        self.consumers = []

    def join(self, client_id):
        self.consumers.append(ck.Consumer(self._settings | {"client.id": client_id}))
        self.consumers[-1].subscribe(["orders"])

    def is_settled(self):
        share = 6 // len(self.consumers)
        return all(len(each.assignment()) == share for each in self.consumers)


def settle(*groups):
    deadline = time.monotonic() + 60
    while not all(group.is_settled() for group in groups):
        assert time.monotonic() < deadline, "the groups do not settle"
        for each in chain(*(group.consumers for group in groups)):
            each.poll(0.02)


@pytest.fixture
def live_groups(broker, clients):
    """A classic and a consumer group with a member each."""
    groups = [
        Group(broker.bootstrap, "live-classic"),
        Group(broker.bootstrap, "live-consumer", **{"group.protocol": "consumer"}),
    ]
    for group in groups:
        group.join("first")
    settle(*groups)
    yield groups
    for consumer in chain(*(group.consumers for group in groups)):
        consumer.close()


@pytest.fixture
def snapshot(broker, tmp_path, monkeypatch, capsys):
    """``snapshot(lake, user, password)``: run the command; returns its exit code and lines."""

    def run(lake, user="regroup", password="secret"):
        conf = tmp_path / "conf.toml"
        settings = secured(broker, password, user)
        lines = [f"{json.dumps(name)} = {json.dumps(text)}" for name, text in settings.items()]
        conf.write_text("\n".join(["[kafka]", *lines]))
        place = ["--lake", str(tmp_path / lake), "--cluster-id", "c", "--conf", str(conf)]
        command = ["regroup", "snapshot", *place, "--bootstrap", broker.secured_bootstrap]
        monkeypatch.setattr("sys.argv", command)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, capsys.readouterr().err.splitlines()

    return run


# The command uses no engine, so the broker is started once.
without_engine = pytest.mark.parametrize("engine", ["embedded"], indirect=True, scope="module")


@without_engine
@pytest.mark.campaign
def test_snapshots_over_tls_show_what_a_join_changed(live_groups, snapshot, tmp_path):
    before = snapshot("lake")
    for group in live_groups:
        group.join("second")
    settle(*live_groups)
    after = snapshot("lake")

    assert (before[0], after[0]) == (0, 0)
    lake = str(tmp_path / "lake")
    columns = "group_id, group_type, protocol_type, state, protocol, member_count, error"
    own = "WHERE group_id LIKE 'live-%'"
    assert query(lake, f"SELECT {columns} FROM group_snapshots {own} ORDER BY ALL")[1] == [
        ("live-classic", "classic", "consumer", "Stable", "range", 1, None),
        ("live-classic", "classic", "consumer", "Stable", "range", 2, None),
        ("live-consumer", "consumer", "consumer", "Stable", "uniform", 1, None),
        ("live-consumer", "consumer", "consumer", "Stable", "uniform", 2, None),
    ]
    assert query(lake, LOG_ENDS)[1] == [("orders", number, 0, "kafka") for number in range(6)]
    columns = "group_id, generation, outcome, members_joined, members_gone, members_retained"
    columns += ", partitions_moved, total_ms_max > 0"
    assert query(lake, f"SELECT {columns} FROM snapshot_rebalances {own}")[1] == [
        ("live-classic", 2, "stable", 1, 0, 1, 3, True),
        ("live-consumer", 2, "stable", 1, 0, 1, 3, True),
    ]
    columns = "group_id, generation, client_id, client_host, change"
    assert query(lake, f"SELECT {columns} FROM snapshot_members {own} ORDER BY ALL")[1] == [
        ("live-classic", 1, "first", "/127.0.0.1", None),
        ("live-classic", 2, "first", "/127.0.0.1", "retained"),
        ("live-classic", 2, "second", "/127.0.0.1", "joined"),
        ("live-consumer", 1, "first", "/127.0.0.1", None),
        ("live-consumer", 2, "first", "/127.0.0.1", "retained"),
        ("live-consumer", 2, "second", "/127.0.0.1", "joined"),
    ]
    assert broken_laws(lake)[1] == []


@without_engine
def test_a_group_that_the_user_may_not_describe_is_named(clients, live_groups, snapshot, tmp_path):
    clients.allow("guest", ("BROKER", "kafka-cluster"), ("GROUP", "live-classic"))
    code, lines = snapshot("lake", "guest", "guest")

    assert code == 0
    assert any("not described: " in line and "authorization failed" in line for line in lines)
    own = "WHERE group_id LIKE 'live-%' ORDER BY 1"
    sql = f"SELECT group_id, state, error FROM group_snapshots {own}"
    assert query(str(tmp_path / "lake"), sql)[1] == [
        ("live-classic", "Stable", None),
        ("live-consumer", None, "Broker: Group authorization failed"),
    ]


@without_engine
def test_a_snapshot_with_a_wrong_password_is_one_line_and_exit_1(broker, clients, snapshot):
    code, [line] = snapshot("lake", "regroup", "wrong")

    assert code == 1
    assert line.startswith(f"regroup: --bootstrap: SASL login at {broker.secured_bootstrap} failed")
