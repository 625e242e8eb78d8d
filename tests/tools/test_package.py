"""The wheels: one package, regroup, whose imports setup.py rewrites, in two distributions."""

import ast
import os
import re
import runpy
import zipfile
from pathlib import Path

import pytest

from tools.embedded_wheel import as_embedded, embedded_metadata
from tools.package import Layout, build_wheel

ROOT = Path(__file__).parents[2]
OWN = ("coordinator_core", "jobs", "schemas")
inside_regroup = runpy.run_path(str(ROOT / "setup.py"))["inside_regroup"]
SOURCE = """
from jobs import __version__
from jobs.lake.sql import query
import schemas.log_lines as data
import jobsite
from jobs_of import jobs

def later():
    from coordinator_core.records import codec
    return "from jobs import nothing"
"""
REWRITTEN = """
from regroup.jobs import __version__
from regroup.jobs.lake.sql import query
import regroup.schemas.log_lines as data
import jobsite
from jobs_of import jobs

def later():
    from regroup.coordinator_core.records import codec
    return "from jobs import nothing"
"""


def test_imports_of_the_packages_are_rewritten():
    assert inside_regroup(SOURCE) == REWRITTEN


def test_an_import_that_binds_a_package_is_refused():
    with pytest.raises(SystemExit, match=r"cannot rewrite 'import jobs.lake.sql'"):
        inside_regroup("import sys\nimport jobs.lake.sql\n")


def test_no_text_of_the_code_names_a_module():
    """The build rewrites only statements; code asks `__package__` or `jobs.__name__` instead."""
    named = [
        (str(path.relative_to(ROOT)), node.value)
        for folder in OWN
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.match(rf"({'|'.join(OWN)})(\.\w*)*$", node.value)
    ]

    assert named == [("coordinator_core/zookeeper/consumer.py", "jobs")]  # an attribute


def top_level(wheel):
    return {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}


@pytest.mark.slow
def test_a_wheel_has_one_package_and_the_zip_has_the_folders(tmp_path):
    wheel = build_wheel(tmp_path, compiled=False)
    assert top_level(wheel) == {"regroup", "regroup-0.1.0.dist-info"}

    in_folders = build_wheel(tmp_path, compiled=False, layout=Layout.FOLDERS)
    assert top_level(in_folders) == {*OWN, "regroup.py", "regroup-0.1.0.dist-info"}


@pytest.mark.slow
@pytest.mark.campaign
def test_a_wheel_built_again_has_the_same_bytes(tmp_path, monkeypatch):
    built = []
    for umask in (0o022, 0o077):
        monkeypatch.setattr("tools.package.CACHE", tmp_path / str(umask))
        before = os.umask(umask)
        try:
            built.append(build_wheel(tmp_path, compiled=False).read_bytes())
        finally:
            os.umask(before)

    assert built[0] == built[1]


METADATA = """\
Metadata-Version: 2.4
Name: regroup
Version: 0.1.0
Requires-Dist: pyspark==4.2.0
Requires-Dist: pysail==0.7.2
Requires-Dist: numba>=0.61
Provides-Extra: otel
Requires-Dist: opentelemetry-sdk; extra == "otel"

Name: of the description
"""
EMBEDDED_METADATA = """\
Metadata-Version: 2.4
Name: regroup-embedded
Version: 0.1.0
Requires-Dist: pysail==0.7.2
Requires-Dist: numba>=0.61; extra == "bulk"
Provides-Extra: otel
Requires-Dist: opentelemetry-sdk; extra == "otel"
Requires-Dist: pyspark-client==4.2.0
Provides-Extra: bulk

Name: of the description
"""


def test_the_embedded_distribution_needs_the_client_in_place_of_spark():
    changes = {
        "dependencies": ["pyspark-client==4.2.0"],
        "without": ["pyspark"],
        "optional": {"bulk": ["numba"]},
    }

    assert embedded_metadata(METADATA, changes) == EMBEDDED_METADATA


def test_the_embedded_wheel_has_the_same_files_and_a_record_of_them(tmp_path):
    wheel = tmp_path / "regroup-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as files:
        files.writestr("regroup/__init__.py", "VALUE = 1\n")
        files.writestr("regroup-1.0.dist-info/METADATA", "Name: regroup\n\n")
        files.writestr("regroup-1.0.dist-info/RECORD", "regroup/__init__.py,sha256=x,1\n")

    embedded = as_embedded(wheel)

    assert embedded.name == "regroup_embedded-1.0-py3-none-any.whl"
    files = zipfile.ZipFile(embedded)
    assert files.read("regroup/__init__.py") == b"VALUE = 1\n"
    names = [line.split(",")[0] for line in files.read(files.namelist()[2]).decode().splitlines()]
    assert (
        names
        == files.namelist()
        == [
            "regroup/__init__.py",
            "regroup_embedded-1.0.dist-info/METADATA",
            "regroup_embedded-1.0.dist-info/RECORD",
        ]
    )
