"""`regroup decode` by several processes: the same output, and no process left afterwards."""

import io
import itertools
import os
import random
import signal
import subprocess
import sys
from multiprocessing import active_children

import pytest

from jobs.console.errors import RunFailed
from jobs.decode import command as job
from jobs.decode import in_workers as workers
from jobs.segments import extents, frames, pieces

pytestmark = pytest.mark.slow

CAPTURES = ["compacted", "transactions", "killed", "cut", "gzip", "lz4", "incident"]
NAME = "00000000000000000000.log"
CORES = {0, 1, 2}


def decoded(*paths):
    out = io.StringIO()
    assert job.decode([str(path) for path in paths], out) == 0
    return out.getvalue()


@pytest.fixture
def cores(monkeypatch):
    """Three workers for files of any size."""
    monkeypatch.setattr(job, "SIZE_FOR_WORKERS", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: CORES)


@pytest.fixture
def handed_over(cores, monkeypatch):
    """The tasks of workers, of a few batches each; two files are open at a time."""
    for module in (frames, pieces, extents):
        monkeypatch.setattr(module, "RUN_BYTES", 1500)
    monkeypatch.setattr(job, "MOST_OPEN", 2)
    seen = []

    def noting(work, tasks, count):
        assert count == len(CORES)
        return in_workers(work, (seen.append(task) or task for task in tasks), count)

    in_workers = workers.in_workers
    monkeypatch.setattr(workers, "in_workers", noting)
    return seen


def in_one_process(*paths):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "SIZE_FOR_WORKERS", 1 << 60)
        return decoded(*paths)


@pytest.mark.parametrize("name", [*CAPTURES, "magic0-broker", "magic1-broker"])
def test_lines_equal_those_of_one_process(captured, handed_over, name):
    one = in_one_process(captured(name))
    assert not handed_over

    assert decoded(captured(name)) == one
    assert len(handed_over) > len(CORES)


@pytest.mark.parametrize("seed", range(5))
def test_lines_of_damaged_files_equal_those_of_one_process(captured, handed_over, tmp_path, seed):
    rnd = random.Random(seed)
    for path in sorted(captured("incident").rglob("*.log")):
        data = bytearray(path.read_bytes())
        for _ in range(5 if data else 0):
            data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
        place = tmp_path / path.relative_to(captured("incident"))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    one = in_one_process(tmp_path)
    assert "quarantined" in one

    assert decoded(tmp_path) == one
    assert any(extent.reason for _, some in handed_over for extent in some)


@pytest.mark.parametrize(("size", "cores"), [(10_000_000, CORES), (100_000_000, {5})])
def test_a_small_file_or_a_single_core_uses_one_process(monkeypatch, size, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: cores)

    assert job.workers_for(size) == 1


def test_a_replaced_file_is_read_with_its_old_content(captured, handed_over, tmp_path):
    """Log compaction replaces files."""
    original = next(captured("compacted").rglob("*.log"))
    path = tmp_path / original.parent.name / NAME
    path.parent.mkdir()
    path.write_bytes(original.read_bytes())
    one = in_one_process(path)
    texts = job.texts(job.segments_of([str(path)]))

    first = next(texts)
    path.unlink()
    path.write_bytes(b"something else")

    assert b"".join([first, *texts]).decode() == one


# Work in general ------------------------------------------------------------------------------


def squares(number):
    if number == 25:
        raise ValueError("too many")
    for _ in range(number % 3):
        yield b""
        yield b"%d," % number**2


def test_results_come_in_the_order_of_the_tasks():
    made = b"".join(workers.in_workers(squares, range(20), 3))

    assert made == b"1,4,4,16,25,25,49,64,64,100,121,121,169,196,196,256,289,289,361,"
    assert not active_children()


def test_an_exception_of_work_is_raised_after_earlier_results():
    results = []
    with pytest.raises(ValueError, match="too many") as raised:
        results.extend(workers.in_workers(squares, itertools.count(22), 3))

    assert b"".join(results) == b"484,529,529,"
    assert "in squares" in raised.value.__notes__[0]
    assert not active_children()


def test_at_most_two_tasks_per_worker_are_sent():
    asked = []
    made = workers.in_workers(squares, (asked.append(n) or n for n in itertools.count(1)), 3)

    next(made)
    assert len(asked) <= 1 + 3 * workers.TASKS
    made.close()
    assert not active_children()


def killed(number):
    if number == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    yield b"%d" % number


def test_a_killed_worker_is_an_error():
    results = []
    with pytest.raises(RunFailed, match=r"killed \(exit code -9\)"):
        results.extend(workers.in_workers(killed, range(20), 2))

    assert results == [b"0", b"1", b"2", b"3"]
    assert not active_children()


def test_a_worker_killed_while_idle_is_an_error():
    def tasks():
        yield from (1, 2)
        for worker in active_children():
            worker.kill()
            worker.join()
        yield 3

    with pytest.raises(RunFailed, match=r"killed \(exit code -9\)"):
        list(workers.in_workers(squares, tasks(), 2))


# The command ----------------------------------------------------------------------------------

COMMAND = """
import os, sys
from jobs.command_line import cli
from jobs.decode import command as decode

decode.SIZE_FOR_WORKERS = 1
os.sched_getaffinity = lambda process: {0, 1, 2}
sys.argv = ["regroup", "decode", sys.argv[1]]
cli.main()
"""


@pytest.fixture
def running(captured, tmp_path):
    """The command after its first line of many."""
    one = (captured("cut") / "__consumer_offsets-2" / NAME).read_bytes()[:6806]
    path = tmp_path / "__consumer_offsets-2" / NAME
    path.parent.mkdir()
    path.write_bytes(one * 2500)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout.readline().startswith(b"{")
    return process


def rest_of_stderr(process):
    """Blocks until every process that has the pipe has ended."""
    process.stdout.close()
    process.stdout = None
    return process.communicate(timeout=60)[1].decode()


def group_is_gone(process):
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    return True


def workers_of(process):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True)
    return [int(pid) for pid in listed.stdout.split()]


def test_no_process_is_left_when_the_reader_closes_the_pipe(running):
    assert len(workers_of(running)) == len(CORES)

    assert rest_of_stderr(running) == ""
    assert running.returncode == 0
    assert group_is_gone(running)


def test_ctrl_c_prints_one_line(running):
    os.killpg(running.pid, signal.SIGINT)

    assert rest_of_stderr(running) == "regroup: interrupted\n"
    assert running.returncode == 130
    assert group_is_gone(running)


def test_no_process_is_left_when_the_command_is_killed(running):
    running.kill()

    assert rest_of_stderr(running) == ""
    assert running.returncode == -signal.SIGKILL


def test_a_killed_worker_is_one_line_and_exit_1(running):
    os.kill(workers_of(running)[0], signal.SIGKILL)
    error = running.communicate(timeout=60)[1].decode()

    assert error.startswith("regroup: a worker process was killed (exit code -9)")
    assert error.count("\n") == 1
    assert running.returncode == 1
    assert group_is_gone(running)
