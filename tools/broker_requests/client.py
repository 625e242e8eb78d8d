"""Sends requests to a broker through the Java program of this folder."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from tools.broker_requests.messages import Body, Call

ANSWER_LIMIT_S = 30


class Answer(NamedTuple):
    """``body``: None if the connection failed, for the ``reason``.  Times: ms since the epoch."""

    request_id: str
    sent_ms: int
    at_ms: int
    body: Body | None
    reason: str


class Client:
    """Requests of one connection are sent one after the other, those of several at once."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._answers: queue.Queue[Answer] = queue.Queue()
        self._put_aside: deque[Answer] = deque()
        self._numbers = count()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(_answer(json.loads(line)))

    def send(self, request_id: str, connection: str, call: Call, client_id: str) -> None:
        line: dict[str, Any] = {"id": request_id, "connection": connection, "api": call.api}
        line |= {"version": call.version, "client_id": client_id, "body": call.body}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def answer(self, limit_s: float) -> Answer | None:
        """The next answer, or None if no answer comes within the limit."""
        if self._put_aside:
            return self._put_aside.popleft()
        try:
            return self._answers.get(timeout=max(limit_s, 0.001))
        except queue.Empty:
            return None

    def ask(self, call: Call) -> Body:
        """Send on a new connection and wait for the body; RuntimeError if it fails."""
        request_id = f"ask {next(self._numbers)}"
        self.send(request_id, request_id, call, "admin")
        while True:
            answer = self._answers.get(timeout=ANSWER_LIMIT_S)
            if answer.request_id != request_id:
                self._put_aside.append(answer)
            elif answer.body is None:
                raise RuntimeError(f"{call.api}: {answer.reason}")
            else:
                return answer.body


def _answer(line: dict[str, Any]) -> Answer:
    failed = line.get("failed", "")
    return Answer(line["id"], line["sent_ms"], line["at_ms"], line.get("body"), failed)


@contextmanager
def client(jars: Path, bootstrap: str) -> Iterator[Client]:
    """A client of the broker at ``bootstrap`` (host:port); ``jars``: Kafka's and the program's."""
    command = ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*"]
    process = subprocess.Popen(
        [*command, "regroup.requests.Main", *bootstrap.split(":")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Client(process)
    finally:
        process.terminate()
        process.wait()
