"""The wheel's compiled modules behave as their sources do: `make -C tools test-spark`."""

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tools.package import Layout, build_wheel, can_compile

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_compile(), reason="no C compiler, or no headers of Python"),
]

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["regroup"]
# All other tests of the core derive classes from compiled classes, or do not use them.
PLAYED_BY_COMPILED_MODULES = [
    "test_broker_traces.py",
    "test_scenarios_equal_kafka.py",
    "test_values_between_processes.py",
    "test_diagram.py",
    "client",
    "coordinator",
    "simulation",
    "whatif/test_across_protocols.py",
]
FILES = """
import importlib, json, sys
print(json.dumps([importlib.import_module(name).__file__ for name in sys.argv[1:]]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the compiled packages, in the layout that the tests of a checkout import."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = build_wheel(tmp_path_factory.mktemp("wheel"), compiled=True, layout=Layout.FOLDERS)
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def run(installed, *arguments):
    """Run Python with the installed packages, and with tests/ and tools/ of the checkout."""
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=ROOT,
        env={"PYTHONPATH": f"{installed}:{ROOT}"},
        capture_output=True,
        text=True,
    )


def names():
    paths = {path for pattern in SETTINGS["compiled"] for path in ROOT.glob(pattern)}
    relative = {path.relative_to(ROOT).as_posix() for path in paths} - {*SETTINGS["interpreted"]}
    return sorted(path.removesuffix(".py").replace("/", ".") for path in relative)


@pytest.mark.campaign
def test_the_listed_modules_are_compiled(installed):
    files = json.loads(run(installed, "-c", FILES, *names()).stdout)

    assert len(files) > 60
    assert [name for name in files if not name.endswith(".so")] == []
    assert [name for name in files if not Path(name).is_relative_to(installed)] == []


@pytest.mark.campaign
def test_every_compiled_module_has_its_source_beside_it(installed):
    without = [
        file
        for file in installed.glob("coordinator_core/**/*.so")
        if not file.with_name(file.name.split(".")[0] + ".py").is_file()
    ]

    assert without == []


@pytest.mark.campaign
def test_compiled_modules_pass_the_tests_of_their_sources(installed):
    folders = [f"tests/core/{name}" for name in PLAYED_BY_COMPILED_MODULES]

    result = run(
        installed, "-m", "pytest", "-q", "-o", "pythonpath=", "-p", "no:cacheprovider", *folders
    )

    assert result.returncode == 0, result.stdout[-4000:]


def test_a_checkout_has_no_compiled_module():
    """They would be imported instead of sources that changed since."""
    assert list((ROOT / "coordinator_core").rglob("*.so")) == []
