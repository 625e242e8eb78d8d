"""Which engine a command uses: option, environment, configuration, spark-submit, size of input."""

import pytest

from jobs.configuration.config import Config, Engine, load_config
from jobs.console.errors import UsageError
from jobs.engine import choice
from jobs.engine.choice import MIB, Workload, bytes_of, choose, lake_only_for_spark
from jobs.nightly import NightlyOptions, inputs_of, workload

AUTO, EMBEDDED, SPARK = Engine
JAVA, NO_JAVA = True, False
SMALL, LARGE = Workload(2 * MIB), Workload(2 * MIB + 1)
FROM_KAFKA = Workload(0, "--kafka")
HERE = {"spark.master": "local[2]"}
CLUSTER = {"spark.master": "spark://m:7077"}


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """``machine(has_java, has_jars, submitted)``: sets them for this process."""

    def be(has_java, has_jars=True, submitted=False):
        monkeypatch.setattr(choice, "java_program", lambda: "java" if has_java else None)
        monkeypatch.setattr(choice, "jars_folder", lambda: tmp_path)
        if has_jars:
            (tmp_path / "io.delta_delta-spark_4.2_2.13-4.4.0.jar").touch()
        if submitted:
            monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
        else:
            monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)

    return be


def config(engine, spark):
    return Config(spark=spark, engine=engine, embedded_limit_mib=2)


@pytest.mark.parametrize(
    ("engine", "spark", "work", "has_java", "expected"),
    [
        (AUTO, HERE, SMALL, JAVA, EMBEDDED),
        (AUTO, {}, SMALL, NO_JAVA, EMBEDDED),
        (AUTO, HERE, LARGE, JAVA, SPARK),
        (AUTO, HERE, LARGE, NO_JAVA, EMBEDDED),
        (AUTO, CLUSTER, SMALL, JAVA, SPARK),
        (AUTO, HERE, FROM_KAFKA, JAVA, SPARK),
        (EMBEDDED, HERE, SMALL, JAVA, EMBEDDED),
        (EMBEDDED, CLUSTER, LARGE, JAVA, EMBEDDED),
        (SPARK, HERE, SMALL, JAVA, SPARK),
        (SPARK, CLUSTER, FROM_KAFKA, JAVA, SPARK),
    ],
)
def test_the_engine_of_a_command(machine, engine, spark, work, has_java, expected):
    machine(has_java)

    assert choose(config(engine, spark), work) is expected


@pytest.mark.parametrize(
    ("engine", "work", "expected"),
    [(AUTO, SMALL, SPARK), (SPARK, SMALL, SPARK), (EMBEDDED, SMALL, EMBEDDED)],
)
def test_under_spark_submit(machine, engine, work, expected):
    """spark-submit has started a JVM, wherever its java is."""
    machine(NO_JAVA, submitted=True)

    assert choose(config(engine, {}), work) is expected


def test_large_input_without_the_jars_of_delta(machine):
    machine(JAVA, has_jars=False)

    assert choose(config(AUTO, HERE), LARGE) is EMBEDDED


@pytest.mark.parametrize(
    ("engine", "spark", "work", "message"),
    [
        (SPARK, HERE, SMALL, "--engine spark needs Spark, and there is no Java: install Java 17"),
        (AUTO, HERE, FROM_KAFKA, "--kafka needs Spark, and there is no Java: install Java 17"),
        (AUTO, CLUSTER, SMALL, "spark.master = spark://m:7077 needs Spark, and there is no Java"),
        (EMBEDDED, HERE, FROM_KAFKA, "--engine embedded: --kafka needs --engine spark"),
    ],
)
def test_spark_is_needed_but_there_is_none(machine, engine, spark, work, message):
    machine(NO_JAVA)

    with pytest.raises(UsageError) as raised:
        choose(config(engine, spark), work)

    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("engine", [AUTO, EMBEDDED])
def test_too_much_input_for_the_embedded_engine_is_one_line(machine, capsys, engine):
    machine(NO_JAVA)

    choose(config(engine, HERE), Workload(3 * MIB))

    assert capsys.readouterr().err == (
        "regroup: 3 MiB of input exceed embedded_limit_mib = 2: the embedded engine "
        "continues, but Spark is better for such sizes (--engine spark, with Java and "
        "`regroup jars`)\n"
    )


@pytest.mark.parametrize(
    ("settings", "spark_only"),
    [
        ({}, None),
        ({"security.protocol": "SSL", "ssl.truststore.type": "PEM",
          "ssl.truststore.location": "ca.pem"}, None),
        ({"security.protocol": "SSL", "ssl.truststore.location": "ca.jks"},
         "--kafka with ssl.truststore.location (JKS)"),
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"},
         "--kafka with sasl.mechanism (GSSAPI)"),
    ],
)  # fmt: skip
def test_settings_of_kafka_that_only_sparks_client_has(settings, spark_only):
    options = NightlyOptions(lake="lake", cluster_id="c", kafka="broker:9092")

    work = workload(options, inputs_of(options, Config(kafka=settings)))

    assert work == Workload(0, spark_only)


@pytest.mark.parametrize(
    ("root", "reason"),
    [
        ("lake", None),
        ("/data/lake", None),
        ("s3://bucket/lake", None),
        ("gs://bucket/lake", None),
        ("abfss://container@account.dfs.core.windows.net/lake", None),
        ("s3a://bucket/lake", "--lake s3a://bucket/lake"),
        ("hdfs://namenode/lake", "--lake hdfs://namenode/lake"),
    ],
)
def test_lakes_that_only_spark_can_use(root, reason):
    assert lake_only_for_spark(root) == reason


def test_the_size_of_files_and_folders(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "folder" / "below").mkdir(parents=True)
    (tmp_path / "folder" / "below" / "b").write_bytes(b"123")

    sizes = [f"{tmp_path}/a", f"{tmp_path}/folder", f"file://{tmp_path}/a", f"{tmp_path}/none"]

    assert list(map(bytes_of, zip(sizes, strict=True))) == [5, 3, 5, 0]


def test_the_work_of_a_run(tmp_path):
    """Its input files; with --recompute-all the bronze tables, too."""
    (tmp_path / "server.log").write_bytes(b"x" * 100)
    (tmp_path / "lake" / "offsets_records").mkdir(parents=True)
    (tmp_path / "lake" / "offsets_records" / "part.parquet").write_bytes(b"x" * 7)
    paths = {"lake": f"{tmp_path}/lake", "cluster_id": "c", "broker_log": f"{tmp_path}/server.log"}

    sizes = [
        workload(options, inputs_of(options, Config()))
        for options in (NightlyOptions(**paths), NightlyOptions(**paths, recompute_all=True))
    ]

    assert sizes == [Workload(100), Workload(107)]


def test_the_option_has_priority_over_the_file(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text('engine = "spark"\nembedded_limit_mib = 7\n')

    assert load_config(str(file)).engine is SPARK
    assert load_config(str(file), EMBEDDED).engine is EMBEDDED
    assert load_config(str(file)).embedded_limit_mib == 7
    assert load_config(None).engine is AUTO
    assert load_config("conf/cluster.toml").engine is SPARK


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('engine = "flink"', "engine must be auto, embedded, spark, not 'flink'"),
        ("engine = 1", "engine must be a text, not 1"),
        ("embedded_limit_mib = -1", "embedded_limit_mib must be 0 or more, not -1"),
        ("embedded_limit_mib = true", "embedded_limit_mib must be 0 or more, not True"),
    ],
)
def test_wrong_settings(tmp_path, text, message):
    file = tmp_path / "c.toml"
    file.write_text(text)

    with pytest.raises(UsageError, match=message):
        load_config(str(file))


@pytest.mark.parametrize("command", ["nightly", "ingest", "churn", "incident_replay"])
def test_a_wrong_engine_is_one_line(regroup, command):
    code, _, err = regroup(command, "--lake", "l", "--cluster-id", "c", "--engine", "flink")

    assert (code, err.count("\n")) == (2, 1)
    assert "'flink' is not one of 'auto', 'embedded', 'spark'" in err


def test_the_engine_of_the_environment(regroup, monkeypatch):
    monkeypatch.setenv("REGROUP_ENGINE", "flink")

    code, _, err = regroup("maintain", "--lake", "l")

    assert (code, err.count("\n")) == (2, 1)
    assert "'flink' is not one of 'auto', 'embedded', 'spark'" in err
