"""`check` tells a run in progress from a broken lake."""

import fcntl
import subprocess
import sys

from jobs.checks.in_progress import is_written
from jobs.console.errors import failure_line


def test_a_held_lock_means_a_run_in_progress(tmp_path):
    file = tmp_path / ".0123456789abcdef.lock"

    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        during = is_written(str(tmp_path))
    after = is_written(str(tmp_path))

    assert (during, after) == (True, False)


def test_the_lock_of_a_dead_process_is_none(tmp_path):
    script = (
        "import fcntl, os, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2);"
        " os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / ".a.lock")], check=False)

    assert (tmp_path / ".a.lock").exists()
    assert not is_written(str(tmp_path))


def test_a_store_without_locks_is_not_written():
    """Stores with locks are in tests/end_to_end/test_object_store.py."""
    assert not is_written("hdfs://host/lake")


def test_a_read_only_lake_is_named_in_one_line():
    line = failure_line(OSError(30, "Read-only file system", "/lake/generations"))

    assert line.startswith("the file system is read-only: ")
    assert "\n" not in line
