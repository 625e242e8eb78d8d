"""Where Spark's jars are, when they are fetched, and what a command says without them."""

import re
from pathlib import Path

import pytest

from jobs import __version__
from jobs.configuration import packaged_files
from jobs.configuration.config import Config, load_config
from jobs.console.errors import RunFailed, UsageError
from jobs.engine import jars, session
from tools.fetch_jars import broker_jars

CONTENT = b"jar"
DIGEST = "0163f1eea7894350060624d315234d40c508ab251ba121714e234503045faadd"  # of CONTENT
PINNED = {"org.example:first:1.0": DIGEST, "org.example:second_2.13:2.0": DIGEST}
FILES = ["org.example_first-1.0.jar", "org.example_second_2.13-2.0.jar"]
IN_CACHE = f"regroup/jars-{__version__}"


@pytest.fixture
def outside_a_checkout(monkeypatch):
    monkeypatch.setattr(jars, "CHECKOUT", None)


@pytest.fixture
def registry(monkeypatch, tmp_path):
    """Resolves every coordinate; the list of calls."""
    calls = []

    def resolve(coordinates, home):
        calls.append(coordinates)
        return [_jar(tmp_path / "registry" / jars.file_name(each)) for each in coordinates]

    monkeypatch.setattr(jars, "_resolve", resolve)
    return calls


def _jar(path):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(CONTENT)
    return str(path)


# environment                                         platform  folder
FOLDERS = [
    ({"REGROUP_JARS": "/srv/jars", "HOME": "/h"},       "linux",  "/srv/jars"),
    ({"HOME": "/h"},                                    "linux",  f"/h/.cache/{IN_CACHE}"),
    ({"HOME": "/h", "XDG_CACHE_HOME": "/c"},            "linux",  f"/c/{IN_CACHE}"),
    ({"HOME": "/h"},                                    "darwin", f"/h/Library/Caches/{IN_CACHE}"),
    ({"HOME": "/h", "LOCALAPPDATA": "/local"},          "win32",  f"/local/{IN_CACHE}"),
]  # fmt: skip


@pytest.mark.parametrize(("environment", "platform", "folder"), FOLDERS)
@pytest.mark.usefixtures("outside_a_checkout")
def test_outside_a_checkout_jars_are_in_the_users_cache(environment, platform, folder, monkeypatch):
    monkeypatch.setattr(jars.sys, "platform", platform)
    monkeypatch.setenv("HOME", environment["HOME"])

    assert jars.jars_folder(environment) == Path(folder)


def test_a_checkout_has_jars_of_its_own():
    assert jars.jars_folder({}) == packaged_files.CHECKOUT / ".jars"


def test_a_fetch_leaves_exactly_the_listed_jars(registry, tmp_path):
    folder = tmp_path / "jars"
    _jar(folder / "org.example_first-0.9.jar")

    assert jars.fetch(PINNED, folder)

    assert sorted(path.name for path in folder.iterdir()) == [".resolved", *FILES]
    assert (folder / ".resolved").read_text() == "\n".join([*PINNED, ""])


@pytest.mark.usefixtures("registry")
def test_a_jar_that_is_not_the_pinned_file_is_refused(tmp_path):
    pinned = PINNED | {"org.example:first:1.0": "0" * 64}

    with pytest.raises(RunFailed, match=f"{FILES[0]} .* is not the pinned .* {DIGEST}"):
        jars.fetch(pinned, tmp_path / "jars")

    assert list((tmp_path / "jars").iterdir()) == []


def test_every_jar_of_a_broker_has_a_checksum():
    assert len(broker_jars()) == 45
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in broker_jars().values())


def test_a_complete_folder_is_not_fetched_again(registry, tmp_path):
    jars.fetch(PINNED, tmp_path / "jars")

    assert not jars.fetch(PINNED, tmp_path / "jars")

    assert len(registry) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / FILES[0]).unlink(),
        lambda folder: (folder / FILES[0]).write_text("<html>"),
        lambda folder: (folder / ".resolved").write_text("org.example:first:0.9\n"),
    ],
    ids=["missing", "damaged", "another version"],
)
def test_an_incomplete_folder_is_fetched_again(change, registry, tmp_path):
    jars.fetch(PINNED, tmp_path / "jars")
    change(tmp_path / "jars")

    assert jars.fetch(PINNED, tmp_path / "jars")

    assert jars.is_complete(PINNED, tmp_path / "jars")


def test_a_folder_that_cannot_be_written(registry, tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="set REGROUP_JARS to another folder"):
        jars.fetch(PINNED, tmp_path / "file" / "jars")


def test_without_java_one_line_names_the_version_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(UsageError, match="install Java 17 or set JAVA_HOME"):
        jars.fetch(PINNED, tmp_path / "jars")


def test_a_session_without_deltas_jars_names_the_command_that_fetches_them(monkeypatch, tmp_path):
    monkeypatch.setenv("REGROUP_JARS", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)

    with pytest.raises(UsageError, match=f"in {tmp_path}: run `regroup jars`"):
        session.build_session(load_config(None))


@pytest.mark.parametrize("setting", ["spark.jars", "spark.jars.packages"])
def test_a_configuration_that_names_jars_needs_no_fetched_ones(setting, monkeypatch, tmp_path):
    monkeypatch.setenv("REGROUP_JARS", str(tmp_path))

    assert session._standalone(Config(spark={setting: "x"}))[setting] == "x"


def test_a_packaged_configuration_is_found_by_its_documented_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    assert packaged_files.configuration_file("conf/large.toml").samefile(
        packaged_files.CONF / "large.toml"
    )


def test_a_file_in_the_current_folder_wins_over_a_packaged_one(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "large.toml").write_text("")

    assert packaged_files.configuration_file("conf/large.toml") == Path("conf/large.toml")
