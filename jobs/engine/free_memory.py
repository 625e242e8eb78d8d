"""The amount of memory that a process may still use."""

from __future__ import annotations

from pathlib import Path


def free_memory() -> int | None:
    """Free bytes of the machine, or of the container if it has less."""
    free = _container_memory()
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free.append(int(line.split()[1]) * 1024)
    except OSError:
        pass
    return min(free, default=None)


def _container_memory() -> list[int]:
    groups = Path("/sys/fs/cgroup")
    for limit, used in (
        (groups / "memory.max", groups / "memory.current"),
        (groups / "memory/memory.limit_in_bytes", groups / "memory/memory.usage_in_bytes"),
    ):
        try:
            return [max(0, int(limit.read_text()) - int(used.read_text()))]
        except (OSError, ValueError):  # The file does not exist, or contains the word "max".
            continue
    return []
