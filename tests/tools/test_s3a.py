"""The jars and settings of Spark on an S3 store."""

import re
from pathlib import Path

import pyspark

from jobs.configuration.config import load_config
from tools.s3a import FOLDER, s3a_jars, write_configuration


def test_every_jar_has_a_checksum():
    assert [coordinate.split(":")[1] for coordinate in s3a_jars()] == [
        "hadoop-aws",
        "bundle",
        "analyticsaccelerator-s3",
    ]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in s3a_jars().values())


def test_the_file_system_is_of_the_version_of_pysparks_hadoop():
    (version,) = [coordinate.split(":")[2] for coordinate in s3a_jars() if "hadoop" in coordinate]

    assert (Path(pyspark.__file__).parent / "jars" / f"hadoop-client-api-{version}.jar").is_file()


def test_the_configuration_is_the_local_one_with_the_store(tmp_path):
    written = load_config(str(write_configuration(tmp_path / "s3a.toml"))).spark

    local = load_config(None).spark
    assert {name: value for name, value in written.items() if name not in local} == {
        "spark.driver.extraClassPath": f"{FOLDER}/*",
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }
    assert local.items() <= written.items()
