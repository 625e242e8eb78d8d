"""Temporary folders: a process deletes its own, and those that killed processes left."""

import subprocess
import sys

START = "from jobs.engine.scratch import scratch_folder; print(scratch_folder(), flush=True);"


def process(folder):
    """A process with a scratch folder, which waits for a line of input and ends."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{START} input()"],
        env={"TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def folders(folder):
    return sorted(map(str, folder.iterdir()))


def test_a_process_deletes_its_folder_when_it_ends(tmp_path):
    run = process(tmp_path)
    own = run.stdout.readline().strip()

    assert folders(tmp_path) == [own]
    run.communicate("\n")
    assert folders(tmp_path) == []


def test_the_folder_of_a_killed_process_is_deleted_by_the_next_process_alone(tmp_path):
    killed, running = process(tmp_path), process(tmp_path)
    left, kept = (run.stdout.readline().strip() for run in (killed, running))
    killed.kill()
    killed.communicate()
    assert folders(tmp_path) == sorted([left, kept])

    last = process(tmp_path)
    own = last.stdout.readline().strip()

    assert folders(tmp_path) == sorted([kept, own])
    for run in (running, last):
        run.communicate("\n")


def test_folders_of_others_stay(tmp_path):
    other = tmp_path / "regroup-results"
    other.mkdir()
    run = process(tmp_path)
    run.stdout.readline()
    run.communicate("\n")

    assert folders(tmp_path) == [str(other)]
