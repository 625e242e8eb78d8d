"""The command line: exit codes, and errors of one line on stderr."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jobs import __version__
from jobs.nightly_run.demo import called_as
from jobs.nightly_run.pipeline import JOBS
from schemas import table_names


@pytest.fixture(scope="module")
def lake(write_lake, tmp_path_factory):
    place = {"group_id": "g", "member_id": "m", "process": "m", "partition": 0}
    tables = {table: [] for table in table_names()}
    tables["generations"] = [{"group_id": "g", "generation": n} for n in (1, 2)]
    tables["assignments"] = [place | {"generation": n} for n in (1, 2)]
    return write_lake(tmp_path_factory.mktemp("lake"), tables)


@pytest.fixture(scope="module")
def empty_lake(write_lake, tmp_path_factory):
    return write_lake(tmp_path_factory.mktemp("empty"), {table: [] for table in table_names()})


@pytest.fixture(scope="module")
def broken_lake(write_lake, tmp_path_factory):
    row = {"group_id": "g", "generation": 1, "cause_seq": 1, "role": "absorbed", "cause": "REJOIN"}
    tables = {table: [] for table in table_names()} | {"rebalance_causes": [row]}
    return write_lake(tmp_path_factory.mktemp("broken"), tables)


ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
NIGHTLY = ["nightly", "--lake", "lake", "--cluster-id", "c"]
INGEST = ["ingest", "--lake", "lake", "--cluster-id", "c"]


NO_SOURCE = "no source: give --segments, --kafka, --dump, --broker-log, --client-log or --trace"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rebalance"], "No such command 'rebalance'."),
        (["--colour"], "No such option: --colour. See `regroup --help`."),
        (["sql", "--cluster-id", "c"], "No such option: --cluster-id. See `regroup sql --help`."),
        (["sql", "--lake", "lake"], "Missing argument 'statement'."),
        (["sql", "SELECT 1"], "Missing option '--lake'."),
        (["sql", "--lake", "/nowhere", "SELECT 1"], "--lake /nowhere: no such folder"),
        (["sql", "--lake", "/nowhere", "--format", "xml", "SELECT 1"], "'xml' is not one of"),
        (["check", "--lake", "/nowhere"], "--lake /nowhere: no such folder"),
        (["decode"], "Missing argument 'paths'."),
        (["decode", "/nowhere.log"], "/nowhere.log: no such file"),
        (["decode", "--format", "xml", "x"], "--format xml: decode prints jsonl only"),
        (["report", *NIGHTLY[1:], "--out", "none/x.html"], "--out none/x.html: no folder none"),
        (["watch", *NIGHTLY[1:], "--trace", "x", "--out", "none/x"], "--out none/x: no folder"),
        (["alerts", "--lake", "x", "--prometheus", "none/x"], "--prometheus none/x: no folder"),
        (["nightly", "--lake", "lake"], "Missing option '--cluster-id'."),
        (["nightly", "--lake", "lake", "--cluster-id", ""], "--cluster-id must not be empty"),
        ([*NIGHTLY, "--segments", "/nowhere/*.log"], "--segments /nowhere/*.log: no such file"),
        ([*NIGHTLY, "--broker-log", "/nowhere.log"], "--broker-log /nowhere.log: no such file"),
        ([*NIGHTLY, "--log-timezone", "Mars"], "unknown time zone 'Mars'"),
        ([*NIGHTLY, "--date", "today"], "--date today: not a date"),
        ([*NIGHTLY, "--from", "2026-11-21"], "--from and --to: give both ends"),
        ([*NIGHTLY, "--conf", "/nowhere.toml"], "--conf /nowhere.toml: No such file"),
        (NIGHTLY, NO_SOURCE),
        (
            [*NIGHTLY, "--date", "2026-11-21"],
            "for rows that are already in the lake, --recompute-all",
        ),
        (INGEST, NO_SOURCE),
        ([*INGEST, "--segments", "/nowhere"], "--segments /nowhere: no such file"),
        (["churn", "--lake", "lake"], "Missing option '--cluster-id'."),
        (["churn", "--lake", "l", "--cluster-id", "c", "--conf", "/no.toml"], "--conf /no.toml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_argument_is_one_line_and_exit_2(regroup, arguments, message):
    code, out, err = regroup(*arguments)

    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("regroup")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [NIGHTLY, INGEST])
def test_brokers_are_asked_before_an_engine_starts(regroup, monkeypatch, command):
    monkeypatch.setattr("jobs.nightly.open_session", lambda *_: pytest.fail("an engine starts"))

    code, out, err = regroup(*command, "--kafka", "127.0.0.1:1")

    assert (code, out) == (1, "")
    assert err.startswith("regroup: --kafka: 127.0.0.1:1 does not answer: Connection refused; ")


@pytest.mark.parametrize(
    ("called", "on_path", "printed"),
    [
        ("bin/regroup", None, "bin/regroup"),
        ("bin/regroup", "other/regroup", "bin/regroup"),
        ("bin/regroup", "bin/regroup", "regroup"),
        ("cli.py", None, "regroup"),
    ],
)
def test_the_next_command_of_the_demo_is_found(tmp_path, monkeypatch, called, on_path, printed):
    monkeypatch.chdir(tmp_path)
    for folder in ("bin", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "regroup").touch()
    monkeypatch.setattr(sys, "argv", [called])
    monkeypatch.setattr("shutil.which", lambda _: on_path)

    assert called_as() == printed


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        ([], "report.html"),
        (["--out", "x.html"], "x.html"),
        (["--trace", "x.json"], None),
        (["--mermaid", "3"], None),
    ],
)
def test_a_report_without_a_file_is_report_html(regroup, monkeypatch, arguments, out):
    taken = []
    monkeypatch.setattr("jobs.report.command.report", taken.append)

    assert regroup("report", *NIGHTLY[1:], *arguments) == (0, "", "")
    assert [options.out for options in taken] == [out]


def test_version(regroup):
    assert regroup("--version") == (0, f"{__version__}\n", "")


def test_the_former_name_of_recompute_all_prints_a_notice(regroup, monkeypatch):
    taken = []
    monkeypatch.setattr(
        "jobs.nightly.nightly_command", lambda options, config, format: taken.append(options)
    )

    assert regroup(*NIGHTLY, "--anew") == (0, "", "regroup: --anew is now --recompute-all\n")
    assert regroup(*NIGHTLY, "--recompute-all") == (0, "", "")
    assert [options.recompute_all for options in taken] == [True, True]


@pytest.mark.parametrize(
    ("arguments", "advice"), [([], True), (["--advice"], True), (["--no-advice"], False)]
)
def test_nightly_gives_advice_unless_it_is_off(regroup, monkeypatch, arguments, advice):
    taken = []
    monkeypatch.setattr(
        "jobs.nightly.nightly_command", lambda options, config, format: taken.append(options)
    )

    assert regroup(*NIGHTLY, *arguments) == (0, "", "")
    assert [options.advice for options in taken] == [advice]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nightly", "--help"]])
def test_help_and_version_do_not_import_spark(arguments):
    script = "import sys; from jobs.command_line import cli\ntry: cli.main()\n"
    script += "except SystemExit: sys.exit('pyspark' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True)

    assert done.returncode == 0


def test_help_does_not_import_the_models():
    script = "import sys; from jobs.command_line import cli\ntry: cli.main()\n"
    script += "except SystemExit: sys.exit('coordinator_core.coordinator' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", script, "--help"], capture_output=True)

    assert done.returncode == 0


# Modules of Spark, Arrow and the models, whose import takes as long as a small query.
SLOW = {"pyspark", "pyarrow", "coordinator_core.client", "coordinator_core.incident"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["sql", "generations"], "0"),
        (["report", "--cluster-id", "c", "--out", "page.html"], "0"),
        (["investigate", "--cluster-id", "c"], "2"),  # The lake has no input.
    ],
)  # fmt: skip
def test_a_query_or_a_page_imports_no_slow_module(lake, tmp_path, arguments, expected):
    script = "import sys; from jobs.command_line import cli\ntry: cli.main()\n"
    script += f"except SystemExit as end: print('', end.code, *({SLOW!r} & sys.modules.keys()))"

    command = [sys.executable, "-c", script, *arguments, "--lake", lake]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)

    assert done.stdout.splitlines()[-1].split() == [expected], done.stderr


OTHER_SCRIPTS = [
    "incident_replay",
    "maintain",
    "nightly",
    "register",
    "snapshot",
    "topic_partitions",
    "what_if_sweep",
]


@pytest.mark.parametrize("name", [*JOBS, *OTHER_SCRIPTS])
def test_a_job_script_is_the_command_of_its_name(name, monkeypatch, capsys):
    script = ROOT / "jobs" / f"{name}.py"
    assert script.read_text().endswith(
        f'if __name__ == "__main__":\n    from jobs.command_line.cli import main\n\n'
        f'    main("{name if name != "topic_partitions" else "topic-partitions"}")\n'
    )


@pytest.mark.parametrize(
    ("script", "arguments", "code", "message"),
    [
        ("churn", ["--help"], 0, "Usage: regroup churn [OPTIONS]"),
        ("nightly", ["--lake", "lake"], 2, "Missing option '--cluster-id'."),
        (
            "churn",
            ["--lake", "/nowhere", "--cluster-id", "c"],
            2,
            "--lake /nowhere: no such folder",
        ),
    ],
)
def test_a_job_script_has_the_exit_codes_of_its_command(script, arguments, code, message):
    command = [sys.executable, str(ROOT / "jobs" / f"{script}.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)

    assert (done.returncode, message in done.stdout + done.stderr) == (code, True)


def test_every_job_is_a_command(regroup):
    for job in JOBS:
        code, out, _ = regroup(job, "--help")
        assert code == 0
        assert "--cluster-id" in out


def test_sql_prints_a_table(regroup, lake):
    code, out, err = regroup("sql", "--lake", lake, "SELECT group_id, generation FROM generations")

    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines() if line.split()][2:] == [
        ["g", "1"],
        ["g", "2"],
    ]


def test_sql_prints_json_alone(regroup, lake):
    statement = "SELECT generation, event_date FROM generations ORDER BY generation LIMIT 1"

    code, out, err = regroup("sql", "--lake", lake, "--format", "json", statement)

    assert (code, err) == (0, "")
    assert json.loads(out) == [{"generation": 1, "event_date": "2026-11-21"}]


def test_a_valid_lake_is_exit_0_without_rows(regroup, empty_lake):
    code, out, err = regroup("check", "--lake", empty_lake, "--format", "json")

    assert (code, json.loads(out), err) == (0, [], "")


def test_a_valid_lake_is_a_sentence_in_the_table_format(regroup, empty_lake):
    code, out, err = regroup("check", "--lake", empty_lake)

    assert (code, err) == (0, "")
    assert re.fullmatch(
        rf"{re.escape(empty_lake)}: no violation; "
        r"conservation, keys and order hold in all \d\d tables\n",
        out,
    )


def test_a_broken_law_is_exit_1(regroup, broken_lake):
    code, out, err = regroup("check", "--lake", broken_lake, "--format", "json")

    assert (code, err) == (1, "")
    assert json.loads(out) == [
        {
            "law": "rows refer to an existing generation",
            "cluster_id": "c",
            "where": "g generation 1",
            "expected": "a generation",
            "found": "none",
        }
    ]


def test_the_command_in_a_new_process(lake):
    command = [sys.executable, "-m", "jobs.command_line.cli", "sql", "--lake", lake]

    done = subprocess.run([*command, "SELECT 1 AS one", "--format", "csv"], capture_output=True)
    wrong = subprocess.run([*command, "SELECT one"], capture_output=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"one\n1\n", b"")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count(b"\n")) == (2, b"", 1)
