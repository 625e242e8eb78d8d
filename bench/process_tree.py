"""What the processes below one have used, seen from outside: memory and the processor's time.

Read from Linux's /proc.  Memory is proportional (PSS): pages that forked workers share count once.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")
EVERY_S = 1.0  # a look at a JVM of gigabytes takes 50 ms of a core


@dataclass
class Used:
    """While watched: ``mib``, the most at a time; ``cpu_s``, ended processes' included."""

    mib: float = 0.0
    cpu_s: float = 0.0


class Watch:
    """Samples the descendants of ``root`` by name (java, python) while it is entered."""

    def __init__(self, root: int) -> None:
        self.used: dict[str, Used] = defaultdict(Used)
        self._root, self._done = root, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._before = {name: used.cpu_s for name, used in _used_by(self._root).items()}
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._sample()

    def _run(self) -> None:
        while not self._done.wait(EVERY_S):
            self._sample()

    def _sample(self) -> None:
        for name, used in _used_by(self._root).items():
            most, cpu_s = self.used[name], used.cpu_s - self._before.get(name, 0.0)
            most.mib, most.cpu_s = max(most.mib, used.mib), max(most.cpu_s, cpu_s)


def _used_by(root: int) -> dict[str, Used]:
    """Of the processes below ``root`` now, by name; what has ended is in its parent's time."""
    found: dict[str, Used] = defaultdict(Used)
    for pid, (name, cpu_s) in _descendants(root).items():
        name = name.rstrip(".0123456789")  # python3.11
        found[name].mib += _pss_mib(pid)
        found[name].cpu_s += cpu_s
    return found


def _descendants(root: int) -> dict[int, tuple[str, float]]:
    children: dict[int, list[int]] = defaultdict(list)
    found = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit() and (stat := _read(folder / "stat")):
            name, fields = stat[stat.index("(") + 1 : stat.rindex(")")], stat.rpartition(")")[2]
            parent, times = int(fields.split()[1]), map(int, fields.split()[11:15])
            children[parent].append(int(folder.name))
            found[int(folder.name)] = (name, sum(times) / TICKS)
    below = [root]
    for pid in below:
        below += children[pid]
    return {pid: found[pid] for pid in below[1:] if pid in found}


def _pss_mib(pid: int) -> float:
    lines = _read(PROC / str(pid) / "smaps_rollup").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # it has just ended
        return ""
