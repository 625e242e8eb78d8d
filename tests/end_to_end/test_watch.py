"""`regroup watch`: files that grow, roll or appear between two passes, faults, signals."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from jobs.checks.check import broken_laws
from jobs.configuration.config import Engine, load_config
from jobs.console.errors import UsageError
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions
from jobs.nightly_run.demo import INCIDENTS
from jobs.watch import passes, replacement
from jobs.watch.passes import Watch, WatchOptions

pytestmark = [pytest.mark.slow, pytest.mark.seldom]
INCIDENT = INCIDENTS["kafka-3.9"]
LINES = (INCIDENT / "server.log").read_bytes().splitlines(keepends=True)
REGROUP = [sys.executable, "-m", "jobs.command_line.cli"]
COUNTS = "SELECT COUNT(*), COUNT(DISTINCT (group_id, generation)) FROM group_events"


@pytest.fixture
def log(tmp_path):
    """A server.log with the first lines of the incident."""
    path = tmp_path / "server.log"
    path.write_bytes(b"".join(LINES[:780]))
    return path


@pytest.fixture
def watching(tmp_path, log):
    """``watching(between, engine)``: makes a pass more than ``between`` has actions, each of which
    happens between two passes; the watch, its lines and the waits between passes."""

    def run(between, engine=Engine.EMBEDDED, **options):
        nightly = NightlyOptions(lake=f"{tmp_path}/lake", cluster_id="c", broker_log=f"{log}*")
        watched = WatchOptions(nightly=nightly, passes=len(between) + 1, **options)
        lines, waits, actions = [], [], iter(between)

        def wait(seconds):
            waits.append(round(seconds))
            next(actions)()

        watch = Watch(
            options=watched, config=load_config(None, engine), say=lines.append, wait=wait
        )
        watch.run()
        return watch, [re.sub(r"^.* pass \d+: |, [\d.]+ s$", "", line) for line in lines], waits

    return run


def append(log, lines):
    with log.open("ab") as file:
        file.writelines(lines)


def nothing():
    pass


def new_lines(line):
    return int(re.search(r"([\d,]+) new log lines?", line)[1])


@pytest.mark.again_on_spark
def test_a_growing_and_rolling_log_gives_the_tables_of_one_run(watching, log, tmp_path, engine):
    def roll():
        log.rename(log.with_name("server.log.1"))
        log.write_bytes(b"".join(LINES[900:]))

    watch, lines, _ = watching(
        [lambda: append(log, LINES[780:900]), nothing, roll, nothing], Engine(engine)
    )

    assert lines[2] == lines[4] == "nothing new"
    assert watch.counts.failed == 0
    assert new_lines(lines[0]) + new_lines(lines[1]) + new_lines(lines[3]) == 235
    assert broken_laws(f"{tmp_path}/lake")[1] == []
    once = tmp_path / "once"
    whole = NightlyOptions(lake=str(once), cluster_id="c", broker_log=f"{INCIDENT}/server.log")
    Watch(
        options=WatchOptions(nightly=whole, passes=1), config=load_config(None, Engine.EMBEDDED)
    ).run()
    assert query(f"{tmp_path}/lake", COUNTS) == query(str(once), COUNTS)


@pytest.mark.every_time
def test_a_pass_without_news_writes_nothing(watching, tmp_path):
    files = []

    def list_lake():
        files.append(sorted((tmp_path / "lake").rglob("*")))

    _, lines, waits = watching([list_lake, nothing, list_lake])

    assert lines[1:] == ["nothing new"] * 3
    assert waits == [pytest.approx(60, abs=15), 60, 60]
    assert files[0] == files[1] != []


def test_failed_passes_are_counted_wait_longer_and_lose_nothing(watching, log, tmp_path):
    def hide():
        append(log, LINES[780:900])
        log.rename(tmp_path / "hidden")

    def show():
        (tmp_path / "hidden").rename(log)

    watch, lines, waits = watching([hide, nothing, show, nothing])

    failure = f"--broker-log {log}*: no such file; give a path, a folder or a quoted glob"
    assert lines[1] == f"failed, 1 in a row: {failure}"
    assert lines[2] == f"failed, 2 in a row: {failure}"
    assert new_lines(lines[3]) > 0
    assert waits[1:] == [120, 240, pytest.approx(60, abs=15)]
    assert (watch.counts.passes, watch.counts.failed, watch.counts.failed_in_a_row) == (5, 2, 0)


def test_a_failure_after_ingest_is_made_up_for_without_new_input(watching, monkeypatch, tmp_path):
    """The dates of the failed pass are computed by the next one."""
    from jobs import churn

    run = churn.run
    monkeypatch.setattr(churn, "run", lambda scope: 1 / 0)

    _, lines, _ = watching([lambda: monkeypatch.setattr(churn, "run", run)])

    assert lines[0] == "failed, 1 in a row: ZeroDivisionError: division by zero"
    assert lines[1].startswith("0 new records, 0 new log lines")
    assert query(f"{tmp_path}/lake", "SELECT COUNT(*) > 0 FROM churn")[1] == [(True,)]


@pytest.mark.every_time
def test_alerts_metrics_and_page(watching, tmp_path, capsys):
    metrics, page = tmp_path / "regroup.prom", tmp_path / "page.html"

    watching([nothing], prometheus=str(metrics), out=str(page))

    raised = capsys.readouterr().out.splitlines()
    families = {each.name: each for each in text_string_to_metric_families(metrics.read_text())}
    values = {name: family.samples[0].value for name, family in families.items() if family.samples}
    assert len(raised) == sum(each.value for each in families["regroup_alerts"].samples)
    assert families["regroup_watch_passes"].type == "counter"
    assert (values["regroup_watch_passes"], values["regroup_watch_failed_passes"]) == (2, 0)
    assert (
        values["regroup_watch_newest_event_time_seconds"]
        == values["regroup_alerts_lake_time_seconds"]
    )
    assert values["regroup_watch_freshness_seconds"] > 0
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": "soon"}, "--every soon: not a duration"),
        ({"prometheus": "/nowhere/x.prom"}, "--prometheus /nowhere/x.prom: no folder /nowhere"),
        ({"out": "/nowhere/x.html"}, "--out /nowhere/x.html: no folder /nowhere"),
    ],
)
def test_options_that_no_pass_can_use_end_the_command(watching, options, message):
    with pytest.raises(UsageError, match=message):
        watching([], **options)


def test_without_a_source(tmp_path):
    with pytest.raises(UsageError, match="no source: give --segments"):
        Watch(
            options=WatchOptions(nightly=NightlyOptions(lake=f"{tmp_path}/lake", cluster_id="c")),
            config=load_config(None),
        ).run()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_loop(log, tmp_path, number, code):
    where = ["--lake", tmp_path / "lake", "--cluster-id", "c", "--engine", "embedded"]
    process = subprocess.Popen(
        [*REGROUP, "watch", *where, "--broker-log", log, "--every", "1h"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.nice(10),
    )
    assert " pass 1: 0 new records, " in process.stderr.readline()

    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)

    assert re.fullmatch("regroup: interrupted[^\n]*\n", stderr)
    assert process.returncode == code


def test_a_lake_that_is_damaged_meanwhile_fails_the_pass_only(watching, log, tmp_path):
    saved = tmp_path / "saved"

    def damage():
        append(log, LINES[780:900])
        shutil.move(tmp_path / "lake" / "timeline" / "_delta_log", saved)
        (tmp_path / "lake" / "timeline" / "_delta_log").mkdir()
        (tmp_path / "lake" / "timeline" / "_delta_log" / f"{0:020}.json").write_text("{")

    def repair():
        shutil.rmtree(tmp_path / "lake" / "timeline" / "_delta_log")
        shutil.move(saved, tmp_path / "lake" / "timeline" / "_delta_log")

    watch, lines, _ = watching([damage, repair])

    assert lines[1].startswith("failed, 1 in a row: ")
    assert lines[2].startswith("0 new records, ")
    assert watch.counts.failed == 1


@pytest.mark.parametrize(("number", "code"), [(None, 0), (signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_new_process_continues_with_count_clock_alerts_and_metrics(log, tmp_path, number, code):
    """Each growth by 1 MiB replaces the process; a signal comes while the new one starts."""
    metrics = tmp_path / "regroup.prom"
    where = ["--lake", tmp_path / "lake", "--cluster-id", "c", "--engine", "embedded"]
    options = ["--every", "1s", "--passes", "4", "--memory-growth-mib", "1"]
    process = subprocess.Popen(
        [*REGROUP, "watch", *where, "--broker-log", log, *options, "--prometheus", metrics],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.nice(10),
    )
    lines = []
    for line in process.stderr:
        lines.append(re.sub(r"^\S+ \S+ |:.*\n", "", line))
        if lines[-1].startswith("pass ") and "nothing new" not in line:
            append(log, LINES[780 + 20 * len(lines) : 800 + 20 * len(lines)])
        if lines[-1].startswith("memory ") and number is not None:
            process.send_signal(number)
            break
    stdout, stderr = process.communicate(timeout=120)

    assert process.returncode == code
    assert any(line.startswith("memory ") for line in lines)
    if number is not None:
        assert re.fullmatch("regroup: interrupted[^\n]*\n", stderr)
        return
    passes = [line for line in lines if line.startswith("pass ")]
    assert passes == [f"pass {number}" for number in range(1, 5)]
    families = {each.name: each for each in text_string_to_metric_families(metrics.read_text())}
    assert families["regroup_watch_passes"].samples[0].value == 4
    raised = stdout.splitlines()
    assert len(raised) == len(set(raised)) > 0


def test_state_and_signals_reach_the_next_program(monkeypatch):
    """An engine's thread receives a signal while the main thread blocks signals."""
    started, received, end = [], [], threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    handler = signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    monkeypatch.setattr(os, "dup2", lambda *descriptors: None)
    monkeypatch.setattr(sys, "stderr", sys.__stderr__)

    def execve(path, arguments, environment):
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) >= {signal.SIGINT, signal.SIGTERM}
        signal.pthread_kill(thread.ident, signal.SIGINT)
        while not received:
            os.sched_yield()
        file = os.dup(int(environment[replacement.STATE]))
        monkeypatch.setenv(replacement.STATE, str(file))
        started.append((path, arguments, environment["A"], replacement.state_before()))
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "execve", execve)
    try:
        with pytest.raises(FileNotFoundError):
            replacement.replace_process({"_next_start_s": 5.5}, {"A": "b"})
    finally:
        signal.signal(signal.SIGINT, handler)
        end.set()

    arguments = [sys.executable, *sys.orig_argv[1:]]
    assert started == [(sys.executable, arguments, "b", {"_next_start_s": 5.5})]
    assert received == [signal.SIGINT, signal.SIGINT]
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & {signal.SIGINT, signal.SIGTERM}
    assert replacement.state_before() == {}


def test_a_process_is_replaced_once_it_grew_enough(watching, log, monkeypatch):
    """A failed replacement is a line, and the pass count goes on."""
    sizes = iter([700.0, 1_000.0, 1_724.0, 1_000.0])
    states = []

    def replace_process(state, environment):
        states.append(state)
        raise OSError("no program")

    monkeypatch.setattr(passes, "resident_mib", lambda: next(sizes))
    monkeypatch.setattr(passes, "replace_process", replace_process)

    watch, lines, waits = watching([lambda: append(log, LINES[780:900]), nothing, nothing])

    assert watch.counts.passes == 4
    assert len(waits) == 3
    assert len(states) == 1
    assert set(states[0]) == set(passes.KEPT)
    assert [line for line in lines if "MiB" in line or "not replaced" in line] == [
        line for line in lines[2:4]
    ]
    assert "memory 700 to 1,724 MiB: replacing the process" in lines[2]
    assert "process not replaced: OSError: no program" in lines[3]


def test_a_pass_that_failed_counts_for_memory_and_a_bad_configuration_ends_nothing(monkeypatch):
    """A configuration that is edited meanwhile: the next program would end with exit code 2."""

    def reload():
        raise UsageError("--conf regroup.toml: not TOML")

    sizes, lines, states = iter([700.0, 1_724.0]), [], []
    monkeypatch.setattr(passes, "resident_mib", lambda: next(sizes))
    monkeypatch.setattr(passes, "replace_process", lambda *arguments: states.append(arguments))
    watch = Watch(
        options=WatchOptions(nightly=NightlyOptions(lake="lake", cluster_id="c")),
        config=load_config(None),
        say=lines.append,
        reload=reload,
        _lake=SimpleNamespace(engine_is_in_process=True),
    )

    watch._failure(ZeroDivisionError())
    watch._replace_process_if_grown()

    assert [line[20:] for line in lines] == [
        "memory 700 to 1,724 MiB: replacing the process",
        "process not replaced: --conf regroup.toml: not TOML",
    ]
    assert states == []
