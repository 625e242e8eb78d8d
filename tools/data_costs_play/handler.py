"""What every consumer process does with a record, whatever its library.

The process gets one argument, a JSON object:
group, process, topic, mode, static, pill, conf, bootstrap, folder.

It reads FOLDER/control/GROUP.json, which the script rewrites:
delay_ms   the handler's time per record
paused     partitions that every owner pauses, from their assignment on
slow       the number, process and length of the last slow poll
fixed      whether groups with pills handle a record with the value "pill"; else it ends the process

It appends to FOLDER/clients.jsonl (callbacks and what happened) and to
FOLDER/clients/GROUP.PROCESS.PID.handled ("wall_ms partition offset" after each handled record).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PILL = b"pill"
CRASH = 1


class Handler:
    def __init__(self) -> None:
        self.own: Mapping[str, Any] = json.loads(sys.argv[1])
        self.group, self.process = self.own["group"], self.own["process"]
        self.topic, self.mode = self.own["topic"], self.own["mode"]
        self.conf: dict[str, Any] = self.own["conf"]
        self.bootstrap: str = self.own["bootstrap"]
        self.stops = False
        self.handled = 0
        folder = Path(self.own["folder"])
        self._control_file = folder / "control" / f"{self.group}.json"
        self._control_ns = 0
        self.control: dict[str, Any] = {}
        self.read_control()
        self._slow_number = self.control["slow"]["number"]
        append = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._notes = os.open(folder / "clients.jsonl", append, 0o644)
        name = f"{self.group}.{self.process}.{os.getpid()}.handled"
        self._records = os.open(folder / "clients" / name, append, 0o644)
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: Any) -> None:
        self.stops = True

    def note(self, what: str, **fields: Any) -> None:
        line = {
            "wall_ms": int(time.time() * 1000),
            "client": self.process,
            "group": self.group,
            "pid": os.getpid(),
            "what": what,
            **fields,
        }
        os.write(self._notes, json.dumps(line).encode() + b"\n")

    def read_control(self) -> None:
        changed_ns = self._control_file.stat().st_mtime_ns
        if changed_ns != self._control_ns:
            self._control_ns = changed_ns
            self.control = json.loads(self._control_file.read_text())

    def slow_s(self) -> float:
        """How long this process is slow now: once per slow poll of the script."""
        self.read_control()
        slow = self.control["slow"]
        is_new = slow["number"] > self._slow_number and slow["process"] == self.process
        self._slow_number = max(slow["number"], self._slow_number)
        return slow["seconds"] if is_new else 0

    def sleep_if_slow(self) -> None:
        if seconds := self.slow_s():
            self.note("slow", seconds=seconds)
            time.sleep(seconds)
            self.note("slow over")

    def delay_s(self) -> float:
        return self.control["delay_ms"] / 1000

    def handle(self, partition: int, offset: int, value: bytes | None) -> None:
        self.begin(partition, offset, value)
        time.sleep(self.delay_s())
        self.end(partition, offset)

    def begin(self, partition: int, offset: int, value: bytes | None) -> None:
        if value != PILL or not self.own["pill"]:
            return
        self.note("poison try", partition=partition, offset=offset)
        self.read_control()
        if not self.control["fixed"]:
            self.note("crash")
            os._exit(CRASH)

    def end(self, partition: int, offset: int) -> None:
        at_ms = int(time.time() * 1000)
        os.write(self._records, b"%d %d %d\n" % (at_ms, partition, offset))
        self.handled += 1

    def to_pause(self, owned: Iterable[int], paused: Iterable[int]) -> tuple[list[int], list[int]]:
        """Partitions to pause and to resume now."""
        self.read_control()
        wanted = set(self.control["paused"]) & set(owned)
        now = set(paused) & set(owned)
        return sorted(wanted - now), sorted(now - wanted)
