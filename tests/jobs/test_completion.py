"""Completion: the words that a real bash offers at a TAB."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# The setup of `regroup --install-completion`, and a TAB at the end of the words.
COMPLETION_AT_TAB = """
eval "$(regroup --show-completion)"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_regroup_completion "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def bash(script, *words, **environment):
    here = Path(sys.executable).parent
    path = f"{here}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words],
        env=os.environ | {"PATH": path} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["regroup", "night"], ["nightly"]),
        (["regroup", "scenario", ""], ["run", "diagram"]),
        (["regroup", "sql", "--form"], ["--format"]),
        (["regroup", "sql", "--format", ""], ["table", "json", "csv"]),
        (["regroup", "decode", "./0"], []),  # In this case bash offers files.
    ],
    ids=" ".join,
)
def test_bash_offers_words(words, offered):
    assert bash(COMPLETION_AT_TAB, *words) == offered


def test_completion_is_installed_into_bash(tmp_path):
    """Afterwards an interactive bash completes words of regroup."""
    # regroup looks at its parent process, and without `exit $?`, regroup would replace bash.
    bash("regroup --install-completion; exit $?", HOME=str(tmp_path))

    completion = bash("bash -ic 'complete -p regroup' 2>/dev/null", HOME=str(tmp_path))

    assert completion == ["complete", "-o", "default", "-F", "_regroup_completion", "regroup"]
