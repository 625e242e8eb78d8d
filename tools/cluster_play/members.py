"""Members of a large group, without consuming: 500 of Kafka's consumers need more than two cores.

    .venv/bin/python -m tools.cluster_play.members BOOTSTRAP TOPIC FOLDER

Takes the commands of regroup.Consumers on stdin, with ``partitions``, and writes its callbacks.
Each member speaks the classic protocol with the eager range assignor, on a connection of its own.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coordinator_core.records.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)

_COMMIT, _FIND, _JOIN, _HEARTBEAT, _LEAVE, _SYNC = 8, 10, 11, 12, 13, 14
_VERSIONS = {_COMMIT: 7, _FIND: 1, _JOIN: 5, _HEARTBEAT: 3, _LEAVE: 3, _SYNC: 3}
_OK, _REBALANCES, _ID_REQUIRED = 0, 27, 79
_MEMBER_IS_GONE = (22, 25)  # ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID
_RETRY_S = 0.1


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, layout: str) -> int:
        (value,) = struct.unpack_from(f">{layout}", self._data, self._at)
        self._at += struct.calcsize(f">{layout}")
        return int(value)

    def bytes_(self, layout: str = "i") -> bytes:
        size = max(self.number(layout), 0)
        self._at += size
        return self._data[self._at - size : self._at]

    def text(self) -> str:
        return self.bytes_("h").decode()


def _text(value: str | None) -> bytes:
    data = b"" if value is None else value.encode()
    return struct.pack(">h", -1 if value is None else len(data)) + data


def _bytes(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


class _Member:
    def __init__(self, command: dict[str, Any], bootstrap: str, notes: Any) -> None:
        self._command, self._notes = command, notes
        self._host, _, port = bootstrap.partition(":")
        self._port = int(port)
        self._group, self._topic = command["group"], command["topic"]
        self._session_ms = int(command["conf"]["session.timeout.ms"])
        self._heartbeat_s = int(command["conf"]["heartbeat.interval.ms"]) / 1000
        self._commit_s = int(command["conf"]["auto.commit.interval.ms"]) / 1000
        self._id, self._generation = "", -1
        self._owned: Sequence[int] = ()
        self._commits = 0
        self.stops = asyncio.Event()

    async def run(self) -> None:
        self._in, self._out = await asyncio.open_connection(self._host, self._port)
        self._note("started")
        # The broker creates `__consumer_offsets` for the first request of this kind.
        while (await self._ask(_FIND, _text(self._group), b"\0")).number("h") != _OK:
            await asyncio.sleep(_RETRY_S)
        while not self.stops.is_set():
            if await self._join():
                await self._heartbeats()
        self._note("closing")
        await self._commit()
        self._revoke()
        if self._id:
            await self._ask(_LEAVE, _text(self._group), struct.pack(">i", 1), self._identity())
        self._note("closed")
        self._out.close()

    async def _join(self) -> bool:
        """Returns whether the member has an assignment."""
        subscription = encode_subscription(Subscription(1, [self._topic]))
        timeouts = struct.pack(">ii", self._session_ms, 60_000)
        protocol = struct.pack(">i", 1) + _text("range") + _bytes(subscription)
        body = _text(self._group), timeouts, self._identity(), _text("consumer"), protocol
        answer = await self._ask(_JOIN, *body)
        error, generation, _ = answer.number("h"), answer.number("i"), answer.text()
        leader, member_id = answer.text(), answer.text()
        if error in (_OK, _ID_REQUIRED):
            self._id = member_id
        elif error in _MEMBER_IS_GONE:
            self._id = ""
        if error != _OK:
            await asyncio.sleep(0 if error == _ID_REQUIRED else _RETRY_S)
            return False
        self._generation = generation
        plan = self._plan(answer) if leader == member_id else struct.pack(">i", 0)
        synced = await self._ask(_SYNC, _text(self._group), self._membership(), plan)
        if synced.number("h") != _OK:
            return False
        assigned = decode_assignment(synced.bytes_()).partitions
        self._owned = [number for _, numbers in assigned for number in numbers]
        self._note("assigned", partitions=[[self._topic, number] for number in self._owned])
        return True

    def _plan(self, answer: _Reader) -> bytes:
        """The range assignor's, for the members of the answer."""
        ids = []
        for _ in range(answer.number("i")):
            ids.append(answer.text())
            answer.text()
            answer.bytes_()
        share, more = divmod(self._command["partitions"], len(ids))
        plan, at = struct.pack(">i", len(ids)), 0
        for place, member_id in enumerate(sorted(ids)):
            until = at + share + (place < more)
            assignment = Assignment(1, [(self._topic, list(range(at, until)))])
            plan += _text(member_id) + _bytes(encode_assignment(assignment))
            at = until
        return plan

    async def _heartbeats(self) -> None:
        """Until the member stops or has to join again."""
        commit_at = time.monotonic() + self._commit_s
        while True:
            try:
                await asyncio.wait_for(self.stops.wait(), self._heartbeat_s)
                return
            except TimeoutError:
                pass
            if time.monotonic() >= commit_at:
                await self._commit()
                commit_at += self._commit_s
            answer = await self._ask(_HEARTBEAT, _text(self._group), self._membership())
            error = answer.number("h")
            if error == _REBALANCES:
                await self._commit()
                self._revoke()
                return
            if error in _MEMBER_IS_GONE:
                self._id = ""
                self._revoke("lost")
                return

    async def _commit(self) -> None:
        self._commits += 1
        offsets = b"".join(
            struct.pack(">iqi", number, self._commits, -1) + _text("") for number in self._owned
        )
        topic = _text(self._topic) + struct.pack(">i", len(self._owned)) + offsets
        body = _text(self._group), self._membership(), struct.pack(">i", 1), topic
        if self._owned:
            await self._ask(_COMMIT, *body)

    def _membership(self) -> bytes:
        return struct.pack(">i", self._generation) + self._identity()

    def _identity(self) -> bytes:
        """Member id and instance id."""
        return _text(self._id) + _text(None)

    async def _ask(self, api: int, *body: bytes) -> _Reader:
        """The answer behind correlation id and throttle time."""
        head = struct.pack(">hhi", api, _VERSIONS[api], 1) + _text(self._command["process"])
        self._out.write(_bytes(head + b"".join(body)))
        (size,) = struct.unpack(">i", await self._in.readexactly(4))
        answer = _Reader(await self._in.readexactly(size))
        answer.number("q")
        return answer

    def _revoke(self, what: str = "revoked") -> None:
        self._note(what, partitions=[[self._topic, number] for number in self._owned])
        self._owned = ()

    def _note(self, what: str, **fields: Any) -> None:
        line = {
            "wall_ms": int(time.time() * 1000),
            "client": self._command["process"],
            "group": self._group,
            "pid": self._command["pid"],
            "what": what,
            **fields,
        }
        self._notes.write(json.dumps(line) + "\n")


async def main(bootstrap: str, folder: str) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running: dict[str, _Member] = {}
    tasks = []
    with open(Path(folder) / "clients.jsonl", "a", buffering=1) as notes:
        while line := await reader.readline():
            command = json.loads(line)
            if command["action"] == "end":
                break
            if command["action"] == "stop":
                running.pop(command["process"]).stops.set()
                continue
            member = _Member(command, bootstrap, notes)
            running[command["process"]] = member
            tasks.append(asyncio.create_task(member.run()))
        for member in running.values():
            member.stops.set()
        await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[3]))
