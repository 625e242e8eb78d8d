"""Processes that exchange messages in virtual time.

    network = VirtualNetwork(delay_ms=lambda source, target: 1)
    network.add("zk1", ZooKeeperServer("zk1", ["zk1"]))
    network.perform("c1", consumer.start(network.now_ms))
    network.run(until_ms=60_000)

Messages from one sender to one target arrive in order.  Events of the same millisecond happen in
the order in which they were scheduled, so the result depends on the delays only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, Protocol

from coordinator_core.zookeeper.messages import SendMessage

DelayMs = Callable[[str, str], int]  # (sender, target) -> delay of this message in ms
Observer = Callable[[int, str, Any], None]  # (now_ms, process name, effect), including SendMessage


class NetworkProcess(Protocol):
    def received(self, source: str, message: Any, now_ms: int) -> Sequence[Any]: ...

    def advance(self, now_ms: int) -> Sequence[Any]: ...

    def next_deadline_ms(self) -> int | None: ...


class VirtualNetwork:
    def __init__(self, delay_ms: DelayMs, observers: Iterable[Observer] = ()) -> None:
        self.now_ms = 0
        self._delay_ms = delay_ms
        self._observers = list(observers)
        self._processes: dict[str, NetworkProcess] = {}
        self._cut: dict[str, set[str]] = {}
        self._paused_until_ms: dict[str, int] = {}
        self._arrivals_ms: dict[tuple[str, str], int] = {}
        self._timers_ms: dict[str, int] = {}
        self._scheduled: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def add(self, name: str, process: NetworkProcess) -> None:
        self._processes[name] = process
        self._set_timer(name)

    def remove(self, name: str) -> None:
        """Remove a process; messages that it has sent still arrive."""
        del self._processes[name]

    def cut(self, name: str, others: Iterable[str]) -> None:
        """Drop all messages sent between ``name`` and ``others`` from now on, until ``heal``."""
        self._cut.setdefault(name, set()).update(others)

    def heal(self, name: str) -> None:
        self._cut.pop(name, None)

    def pause(self, name: str, until_ms: int) -> None:
        """Pause the process, as a garbage collection does: its input waits, nothing is lost."""
        self._paused_until_ms[name] = until_ms

    def at(self, at_ms: int, action: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._scheduled, (at_ms, self._count, action))

    def perform(self, name: str, effects: Iterable[Any]) -> None:
        """Carry out the effects of a process and notify the observers."""
        for effect in effects:
            for observe in self._observers:
                observe(self.now_ms, name, effect)
            if isinstance(effect, SendMessage):
                self._carry(name, effect)
        self._set_timer(name)

    def run(self, until_ms: int) -> None:
        """Run all events up to and including ``until_ms``."""
        while self._scheduled and self._scheduled[0][0] <= until_ms:
            self.now_ms, _, action = heappop(self._scheduled)
            action()
        self.now_ms = max(self.now_ms, until_ms)

    def _carry(self, source: str, send: SendMessage) -> None:
        link = source, send.target
        arrival_ms = self.now_ms + self._delay_ms(*link)
        self._arrivals_ms[link] = arrival_ms = max(arrival_ms, self._arrivals_ms.get(link, 0))
        if not self._is_cut(*link):
            self.at(arrival_ms, lambda: self._deliver(source, send))

    def _is_cut(self, source: str, target: str) -> bool:
        return target in self._cut.get(source, ()) or source in self._cut.get(target, ())

    def _deliver(self, source: str, send: SendMessage) -> None:
        process = self._processes.get(send.target)
        if process is None:
            return
        paused_until_ms = self._paused_until_ms.get(send.target, 0)
        if paused_until_ms > self.now_ms:
            self.at(paused_until_ms, lambda: self._deliver(source, send))
            return
        self.perform(send.target, process.received(source, send.message, self.now_ms))

    def _set_timer(self, name: str) -> None:
        """Schedule the process's earliest deadline; a process has at most one valid timer."""
        process = self._processes.get(name)
        deadline_ms = process.next_deadline_ms() if process is not None else None
        timer_ms = self._timers_ms.get(name)
        if deadline_ms is None or (timer_ms is not None and timer_ms <= deadline_ms):
            return
        self._timers_ms[name] = deadline_ms
        self.at(max(deadline_ms, self.now_ms), lambda: self._wake(name, deadline_ms))

    def _wake(self, name: str, timer_ms: int) -> None:
        process = self._processes.get(name)
        if process is None or self._timers_ms.get(name) != timer_ms:
            return
        paused_until_ms = self._paused_until_ms.get(name, 0)
        if paused_until_ms > self.now_ms:
            self.at(paused_until_ms, lambda: self._wake(name, timer_ms))
            return
        del self._timers_ms[name]
        deadline_ms = process.next_deadline_ms()
        is_due = deadline_ms is not None and deadline_ms <= self.now_ms
        self.perform(name, process.advance(self.now_ms) if is_due else [])
