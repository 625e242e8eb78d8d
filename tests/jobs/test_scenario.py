"""`regroup scenario run`: reads scenario files, writes traces, and refuses invalid files."""

import gzip
import json
from pathlib import Path

import pytest

from jobs.console.errors import UsageError
from jobs.simulate.scenario import run

DATA = Path(__file__).parents[1] / "data" / "coordinator"


def rows(name, count):
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]


@pytest.fixture
def folders(tmp_path):
    """Files of three scenarios, and of the traces that Kafka 4.1 wrote for them."""
    scenarios, traces = tmp_path / "scenarios", tmp_path / "traces"
    scenarios.mkdir()
    traces.mkdir()
    for scenario in rows("scenarios.jsonl.gz", 3):
        (scenarios / f"{scenario['name']}.json").write_text(json.dumps(scenario))
    for row in rows("traces-4.1.jsonl.gz", 3):
        lines = "".join(json.dumps(event) + "\n" for event in row["trace"])
        (traces / f"{row['name']}.jsonl").write_text(lines)
    return scenarios, traces


def events(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_one_trace_file_is_written_per_scenario(folders, tmp_path, capsys):
    scenarios, traces = folders
    out = tmp_path / "deep" / "out"

    code = run("4.1", str(traces), str(out), [str(scenarios)])

    assert code == 0
    assert sorted(p.name for p in out.iterdir()) == sorted(p.name for p in traces.iterdir())
    for path in traces.iterdir():
        assert events(out / path.name)[1:] == events(path)[1:]
        assert events(out / path.name)[0]["member_ids"] == events(path)[0]["member_ids"]
    assert capsys.readouterr().out == ""


def test_one_scenario_goes_to_standard_output(folders, capsys):
    scenarios, traces = folders
    path = sorted(scenarios.iterdir())[0]

    code = run("4.1", str(traces / f"{path.stem}.jsonl"), None, [str(path)])

    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert printed[1:] == events(traces / f"{path.stem}.jsonl")[1:]


def test_without_ids_from_the_same_ids_are_derived(folders, tmp_path):
    scenarios, _ = folders
    for out in ("one", "two"):
        run("3.9", None, str(tmp_path / out), [str(scenarios)])

    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("era", "text", "message"),
    [
        (
            "5.0",
            "{}",
            "--era 5.0: not one of 0.9, 0.10, 0.11, 1.0, 1.1, 2.0.0, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5",
        ),
        ("4.1", "{", "not a JSON file"),
        ("4.1", "{}", "invalid scenario"),
        ("4.1", '{"name": "x", "steps": [{"id": "a"}]}', "invalid scenario"),
    ],
)
def test_an_invalid_scenario_is_named(tmp_path, era, text, message):
    path = tmp_path / "x.json"
    path.write_text(text)

    with pytest.raises(UsageError, match=message):
        run(era, None, str(tmp_path / "out"), [str(path)])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere: no such scenario"):
        run("4.1", None, None, [str(tmp_path / "nowhere")])


def test_a_missing_trace_is_named(folders, tmp_path):
    scenarios, _ = folders

    with pytest.raises(UsageError, match=r"--ids-from .*no start line with member_ids"):
        run("4.1", str(tmp_path), None, [str(scenarios)])
