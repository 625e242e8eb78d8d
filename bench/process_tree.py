"""Memory and CPU time of a process and of its descendants, from Linux's /proc.

Memory of descendants is proportional (PSS): pages that forked workers share count once.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")
INTERVAL_S = 1.0  # Reading the memory of a JVM with gigabytes takes 50 ms of CPU time.


@dataclass
class ResourceUse:
    """``mib``: maximum memory; ``cpu_s``: CPU time, including processes that have ended."""

    mib: float = 0.0
    cpu_s: float = 0.0


class OwnWatch:
    """Context manager that measures this process without its descendants; result in ``used``."""

    def __enter__(self) -> OwnWatch:
        # This resets VmHWM, the maximum memory of the process.
        (PROC / "self" / "clear_refs").write_text("5")
        self._before = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        lines = _read(PROC / "self" / "status").splitlines()
        mib = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
        self.used = ResourceUse(mib, time.process_time() - self._before)


class ProcessTreeWatch:
    """Context manager that samples the descendants of ``root``; ``used`` is by program name."""

    def __init__(self, root: int) -> None:
        self.used: dict[str, ResourceUse] = defaultdict(ResourceUse)
        self._root, self._done = root, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> ProcessTreeWatch:
        self._before = {name: used.cpu_s for name, used in _used_by(self._root).items()}
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._sample()

    def _run(self) -> None:
        while not self._done.wait(INTERVAL_S):
            self._sample()

    def _sample(self) -> None:
        for name, used in _used_by(self._root).items():
            maximum, cpu_s = self.used[name], used.cpu_s - self._before.get(name, 0.0)
            maximum.mib = max(maximum.mib, used.mib)
            maximum.cpu_s = max(maximum.cpu_s, cpu_s)


def cpu_seconds() -> float:
    """CPU time of this process and its descendants, including those that have ended."""
    own = sum(os.times()[:4])
    return own + sum(cpu_s for _, cpu_s in _descendants(os.getpid()).values())


def _used_by(root: int) -> dict[str, ResourceUse]:
    """Current use by program name; a parent's CPU time includes its ended children."""
    used: dict[str, ResourceUse] = defaultdict(ResourceUse)
    for pid, (name, cpu_s) in _descendants(root).items():
        name = name.rstrip(".0123456789")  # python3.11
        used[name].mib += _pss_mib(pid)
        used[name].cpu_s += cpu_s
    return used


def _descendants(root: int) -> dict[int, tuple[str, float]]:
    children: dict[int, list[int]] = defaultdict(list)
    processes = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit() and (stat := _read(folder / "stat")):
            name, fields = stat[stat.index("(") + 1 : stat.rindex(")")], stat.rpartition(")")[2]
            parent, times = int(fields.split()[1]), map(int, fields.split()[11:15])
            children[parent].append(int(folder.name))
            processes[int(folder.name)] = (name, sum(times) / TICKS)
    below = [root]
    for pid in below:
        below += children[pid]
    return {pid: processes[pid] for pid in below[1:] if pid in processes}


def _pss_mib(pid: int) -> float:
    lines = _read(PROC / str(pid) / "smaps_rollup").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # the process has ended
        return ""
