"""Sends the requests of one classic scenario to a broker, each at its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from coordinator_core.coordinator.era import Era
from coordinator_core.scenarios.scenario import ScenarioPlayer, derived_ids
from coordinator_core.scenarios.trace_events import response_event
from tools.broker_requests.client import Answer, Client
from tools.broker_requests.messages import call, older, response

Json = Any
Step = Mapping[str, Json]

MAY_WAIT_MS = 1000  # maximum wait for the answer to which a step refers
# pause that lets steps of the same time arrive in order, although over several connections
APART_MS = 10
JOIN_WITHOUT_MEMBER_ID = 3  # newer versions ask the member to join again with its new id


class ClassicPlayer:
    """Plays a scenario once.  Times: milliseconds since the epoch, in traces since ``start_ms``."""

    def __init__(
        self, scenario: Mapping[str, Json], era: Era, newest: Mapping[str, int], start_ms: float
    ) -> None:
        """``newest``: the broker's newest version of each API."""
        self.scenario, self.start_ms = scenario, start_ms
        self.name: str = scenario["name"]
        self.planned_end_ms = start_ms + scenario["steps"][-1]["at_ms"]
        self.events: list[dict[str, Json]] = []
        self.member_ids: dict[str, str] = {}  # step -> member id that its answer gave
        self.used: dict[str, set[int]] = {}
        self.has_ended = False
        self._newest = newest
        self._requests = ScenarioPlayer(scenario, era, derived_ids(), None)
        self._steps: list[Step] = [*reversed(scenario["steps"])]
        self._waiting: list[Step] = []  # steps that wait for an answer to which they refer
        # step -> API and version of its request, and when it was sent
        self._sent: dict[str, tuple[Step, str, int, int]] = {}
        # number of requests without an answer, by connection
        self._connections: Counter[str] = Counter()
        self._free_at_ms = 0.0

    def due_ms(self) -> float:
        """When ``take`` has something to do."""
        dues = [self.start_ms + step["at_ms"] + MAY_WAIT_MS for step in self._waiting]
        if self._steps:
            dues.append(max(self.start_ms + self._steps[-1]["at_ms"], self._free_at_ms))
        return min(dues, default=0)

    def take(self, now_ms: float, client: Client) -> None:
        at_ms = now_ms - self.start_ms
        for step in [each for each in self._waiting if each["at_ms"] + MAY_WAIT_MS <= at_ms]:
            self._waiting.remove(step)
            why = f"no response to {next(self._unknown(step))} yet"
            self._event(at_ms, "skipped", step, why=why)
        if self._steps and self.start_ms + self._steps[-1]["at_ms"] <= now_ms >= self._free_at_ms:
            step = self._steps.pop()
            if any(self._unknown(step)):
                self._waiting.append(step)
            elif step["op"] != "wait":
                self._send(step, now_ms, client)
        if not self._steps and not self._waiting:
            self._end(at_ms)

    def note(self, step_id: str, connection: str, answer: Answer, client: Client) -> None:
        """An answer has come; RuntimeError if the request failed."""
        if answer.body is None:
            raise RuntimeError(f"{self.name} {step_id}: {answer.reason}")
        self._connections[connection] -= 1
        if self.has_ended:
            return
        step, api, version, _ = self._sent.pop(step_id)
        at_ms = round(answer.at_ms - self.start_ms)
        event = response_event(at_ms, step_id, step["op"], response(api, answer.body))
        event |= {"version": version, "sent_at_ms": round(answer.sent_ms - self.start_ms)}
        self.events.append(event)
        if step["op"] == "join":
            self._requests.answers["@" + step_id] = (event["member"], event["generation"])
            if event["member"] and not step["member"]:
                self.member_ids[step_id] = event["member"]
        for waiting in [each for each in self._waiting if not any(self._unknown(each))]:
            self._waiting.remove(waiting)
            self._send(waiting, answer.at_ms, client)

    def _unknown(self, step: Step) -> Iterator[str]:
        """The steps without an answer to which the step refers."""
        rows = step.get("assignments", []) + step.get("members", [])
        for value in (step.get("member"), step.get("generation"), *(row[0] for row in rows)):
            if isinstance(value, str) and value[:1] == "@" and value not in self._requests.answers:
                yield value[1:]

    def _send(self, step: Step, now_ms: float, client: Client) -> None:
        sent = call(getattr(self._requests, step["op"])(step))
        if sent.api not in self._newest:
            self._event(now_ms - self.start_ms, "skipped", step, why=f"no {sent.api}")
            return
        newest = min(self._newest[sent.api], step.get("max_version", 99))
        if step["op"] == "join" and not step["requires_known_member_id"]:
            newest = min(newest, JOIN_WITHOUT_MEMBER_ID)
        sent = older(sent, newest)
        self.used.setdefault(sent.api, set()).add(sent.version)
        at_ms = round(now_ms - self.start_ms)
        self._sent[step["id"]] = (step, sent.api, sent.version, at_ms)
        number = next(n for n in range(99) if not self._connections[f"{self.name} {n}"])
        connection = f"{self.name} {number}"
        self._connections[connection] += 1
        client_id = step.get("client_id", "regroup")
        request_id = f"{self.name} {step['id']} {number}"
        client.send(request_id, connection, sent, client_id)
        self._free_at_ms = now_ms + APART_MS

    def _event(self, at_ms: float, kind: str, step: Step, **fields: Json) -> None:
        event = {"at_ms": round(at_ms), "event": kind, "to": step["id"], "op": step["op"]}
        self.events.append(event | fields)

    def _end(self, at_ms: float) -> None:
        self.has_ended = True
        for step, _, version, sent_at_ms in self._sent.values():
            self._event(at_ms, "no_response", step, version=version, sent_at_ms=sent_at_ms)
