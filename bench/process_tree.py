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
EVERY_S = 0.5


@dataclass
class Used:
    """``mib``: the most at a time; ``cpu_s``: so far, processes that have ended included."""

    mib: float = 0.0
    cpu_s: float = 0.0


class Watch:
    """Samples the descendants of ``root`` by name (java, python) while it is entered."""

    def __init__(self, root: int) -> None:
        self.used: dict[str, Used] = defaultdict(Used)
        self._root, self._done = root, threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(EVERY_S):
            now: dict[str, Used] = defaultdict(Used)
            for pid, (name, cpu_s) in _descendants(self._root).items():
                name = name.rstrip(".0123456789")  # python3.11
                now[name].mib += _pss_mib(pid)
                now[name].cpu_s += cpu_s
            for name, used in now.items():
                most = self.used[name]
                most.mib, most.cpu_s = max(most.mib, used.mib), max(most.cpu_s, used.cpu_s)


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
