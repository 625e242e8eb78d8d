"""README.md: short enough to read, and every command in it works as typed.

Commands with output below them are compared in test_questions.py; the build server runs `make
package`, the tests run what `make demo` runs, and `tools/try_wheel.sh` runs the wheel's commands.
"""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WITHOUT_OUTPUT = re.sub(r"^```\n.*?^```", "```", README, flags=re.M | re.S)
BLOCKS = re.findall(r"((?:^ {4}\S[^\n]*\n)(?:^ {4,}[^\n]*\n)*)(\n```)?", WITHOUT_OUTPUT, re.M)
ELSEWHERE = ("make demo", "make package")


def _headings(page):
    """Anchors of a page, as code hosts derive them from its headings."""
    for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _alone():
    """Commands without output below them."""
    for block, output in BLOCKS:
        command = re.sub("^ {4}", "", block, flags=re.M)
        if not output and not command.startswith(ELSEWHERE):
            yield pytest.param(command, id=command[:40])


@pytest.fixture
def reader(demo, tmp_path):
    """A folder as a reader has it after `make demo`, with the files that README's paths name."""
    demo.copy(tmp_path / ".demo")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "regroup").symlink_to(Path(sys.executable).with_name("regroup"))
    incident = ROOT / "examples" / "mixed-clients-3.9.1"
    (tmp_path / "kafka" / "data").mkdir(parents=True)
    (tmp_path / "kafka" / "logs").mkdir()
    partition = "__consumer_offsets-2"
    (tmp_path / "kafka" / "data" / partition).symlink_to(incident / "segments" / partition)
    (tmp_path / "kafka" / "logs" / "server.log").symlink_to(incident / "server.log")
    client_log = ROOT / "tests" / "data" / "client_logs" / "reports-1.log.gz"
    (tmp_path / "app.log").write_bytes(gzip.decompress(client_log.read_bytes()))
    return tmp_path


def test_it_has_at_most_8_kb_and_ten_links():
    assert len(README.encode()) <= 8_000
    assert len(re.findall(r"(?<!!)\[[^\]]+\]\(", README)) <= 10


def test_its_anchors_are_headings_of_the_pages():
    links = re.findall(r"\]\(([^):#]+)#([^)]+)\)", README)

    assert [link for link in links if link[1] not in _headings(ROOT / link[0])] == []


@pytest.mark.parametrize("command", list(_alone()))
def test_a_command_without_output_runs(reader, command):
    here = re.sub(r"(?<=[ '])/(?=kafka/|data/)", f"{reader}/", command)

    run = subprocess.run(
        ["bash", "-c", here],
        cwd=reader,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )

    assert run.returncode == 0, run.stderr
