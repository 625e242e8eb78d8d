"""Plays one scenario of all group types with a real broker, in real time."""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from coordinator_core.coordinator.era import Era
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Respond
from coordinator_core.scenarios.group_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import derived_ids
from tools.broker_requests.client import Answer, Client
from tools.broker_requests.messages import Body, Call, call, response

Json = Any
Step = Mapping[str, Json]

GROUP_RESOURCE, SET = 32, 0
GROUP_KEY, SHARE_KEY = 0, 2
WAITING = frozenset({"join", "sync"})  # requests that may be answered after later steps
# seconds until the next step is due, after which an answer is taken when it comes
PROMPT_ANSWER_S = 0.5
PUBLISHED_S = 1.5  # seconds from a broker's own view of a topic to its coordinator's view
LATE_MS = 100  # maximum time between a step's time and its answer on a busy machine
LIMIT_S = 30
NOT_YET = frozenset(
    {
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.NOT_COORDINATOR,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


class BrokerPlayer:
    """Plays a scenario once; ``restart``: stops the broker and starts it again."""

    def __init__(
        self, scenario: Mapping[str, Json], era: Era, client: Client, restart: Callable[[], None]
    ) -> None:
        self._scenario, self._client, self._restart = scenario, client, restart
        self._steps: list[Step] = scenario["steps"]
        self._values = AllTypesPlayer(scenario, era, derived_ids())  # values of references
        self._apis: dict[str, str] = {}  # step -> api
        self._open: set[str] = set()  # ids of steps without an answer
        self._restarts = 0
        self._start_ms = 0.0  # wall clock time at the scenario's time 0
        self.topic_ids: dict[str, dict[str, str]] = {}  # step -> topic name -> UUID
        self.sent_at_ms: dict[str, int] = {}
        self.ended_ms = 0  # wall clock time after the last step

    def play(self) -> list[dict[str, Json]]:
        """The lines of the answers, in their order; raises RuntimeError if a request failed."""
        self._prepare()
        self._start_ms = _now_ms() - self._steps[0]["at_ms"]
        for step in self._steps:
            self._wait_until(step["at_ms"])
            self._take(step)
        self.ended_ms = round(_now_ms())
        self._wait_until(self._scenario_ms() + 500)
        return self._values.trace

    def _prepare(self) -> None:
        """Find coordinators, so that the broker creates its internal topics before the scenario."""
        for key_type, key in ((GROUP_KEY, "g"), (SHARE_KEY, f"g:{'A' * 22}:0")):
            if key_type == SHARE_KEY and not self._has("share_heartbeat"):
                continue
            body = {"keyType": key_type, "coordinatorKeys": [key]}
            find = Call("FindCoordinator", 6, body)
            self._until(lambda find=find: _has_coordinator(self._client.ask(find)))
        self._wait_for_groups()

    def _has(self, op: str) -> bool:
        return any(step["op"] == op for step in self._steps)

    def _until(self, is_done: Callable[[], bool]) -> None:
        limit = time.monotonic() + LIMIT_S
        while not is_done():
            if time.monotonic() > limit:
                raise RuntimeError(f"{self._scenario['name']}: the broker is not ready")
            time.sleep(0.02)

    # -- time

    def _scenario_ms(self) -> float:
        return _now_ms() - self._start_ms

    def _wait_until(self, at_ms: float) -> None:
        while (left_ms := at_ms - self._scenario_ms()) > 0:
            self._receive(left_ms / 1000)

    # -- steps

    def _take(self, step: Step) -> None:
        op = step["op"]
        if op == "metadata":
            self._change_topics(step)
        elif op == "group_config":
            self._configure(step["group"], step["configs"])
        elif op == "reload":
            self._reload(step["at_ms"])
        elif op != "wait":
            self._send(step)

    def _send(self, step: Step) -> None:
        request = self._values.requests.request_of(step)
        assert request is not None, f"{step['id']}: the broker answers by itself"
        sent, step_id = call(request), step["id"]
        connection = f"{step_id.rstrip('0123456789')} {self._restarts}"
        self._apis[step_id] = sent.api
        self._open.add(step_id)
        client_id = getattr(request, "client_id", "") or "oracle"
        self._client.send(step_id, connection, sent, client_id)
        may_wait = step["op"] in WAITING
        limit = time.monotonic() + (PROMPT_ANSWER_S if may_wait else LIMIT_S)
        while step_id in self._open and time.monotonic() < limit:
            self._receive(limit - time.monotonic())
        if not may_wait:
            self._stand_still(step["at_ms"])

    def _stand_still(self, at_ms: int) -> None:
        """Take a late answer for a prompt one: the next steps keep their distance to this one."""
        late_ms = self._scenario_ms() - at_ms
        if late_ms > LATE_MS:
            self._start_ms += late_ms - LATE_MS

    def _receive(self, limit_s: float) -> None:
        answer = self._client.answer(limit_s)
        if answer is not None:
            self._note(answer)

    def _note(self, answer: Answer) -> None:
        step_id = answer.request_id
        if answer.body is None:
            raise RuntimeError(f"{self._scenario['name']} {step_id}: {answer.reason}")
        self._open.discard(step_id)
        self.sent_at_ms[step_id] = round(answer.sent_ms - self._start_ms)
        at_ms = round(answer.at_ms - self._start_ms)
        values = response(self._apis[step_id], answer.body)
        self._values.respond(Respond(step_id, values), at_ms)

    def _configure(self, group_id: str, configs: Mapping[str, Json]) -> None:
        rows = [
            {"name": name, "configOperation": SET, "value": str(value)}
            for name, value in configs.items()
        ]
        resource = {"resourceType": GROUP_RESOURCE, "resourceName": group_id, "configs": rows}
        body = {"resources": [resource], "validateOnly": False}
        _check(self._client.ask(Call("IncrementalAlterConfigs", 1, body))["responses"])
        time.sleep(0.2)  # The broker needs this time to replay the record.

    def _reload(self, at_ms: int) -> None:
        """Restart the broker; the scenario's time stands still until it has loaded the group."""
        self._restart()
        self._restarts += 1
        self._wait_for_groups()
        self._start_ms = _now_ms() - at_ms

    def _wait_for_groups(self) -> None:
        """Wait until the coordinator has loaded its partition and answers for every group."""
        group_ids = sorted({step["group"] for step in self._steps if "group" in step})
        body = {"groupIds": group_ids, "includeAuthorizedOperations": False}
        ask = Call("ConsumerGroupDescribe", 1, body)
        self._until(lambda: not NOT_YET & _errors(self._client.ask(ask)["groups"]))

    # -- topics

    def _change_topics(self, step: Step) -> None:
        rows, deleted = step.get("topics") or [], step.get("deleted") or []
        has_changed = [self._make_topic(row["name"], row["partitions"]) for row in rows]
        for name in deleted:
            topics = [{"name": name, "topicId": "A" * 22}]
            _check(self._admin("DeleteTopics", 6, {"topics": topics})["responses"])
            self._until(lambda name=name: self._topic(name) is None)
        ids = {row["name"]: self._id(row["name"], row["partitions"]) for row in rows}
        self.topic_ids[step["id"]] = ids
        real = [{**row, "id": ids[row["name"]]} for row in rows]
        self._values.topics.change(real, deleted)
        if any(has_changed):
            time.sleep(PUBLISHED_S)
            self._stand_still(step["at_ms"])

    def _make_topic(self, name: str, partitions: int) -> bool:
        """Create the topic or add partitions; False if the broker already did."""
        topic = self._topic(name)
        if topic is None:
            row = {"name": name, "numPartitions": partitions, "replicationFactor": 1}
            rows = [row | {"assignments": [], "configs": []}]
            _check(self._admin("CreateTopics", 7, {"topics": rows})["topics"])
        elif len(topic["partitions"]) < partitions:
            rows = [{"name": name, "count": partitions, "assignments": None}]
            _check(self._admin("CreatePartitions", 3, {"topics": rows})["results"])
        else:
            return False
        return True

    def _admin(self, api: str, version: int, body: Body) -> Body:
        if api != "DeleteTopics":
            body["validateOnly"] = False
        return self._client.ask(Call(api, version, body | {"timeoutMs": 10_000}))

    def _topic(self, name: str) -> Body | None:
        body = {
            "topics": [{"topicId": "A" * 22, "name": name}],
            "allowAutoTopicCreation": False,
            "includeTopicAuthorizedOperations": False,
        }
        topic: Body = self._client.ask(Call("Metadata", 12, body))["topics"][0]
        return None if topic["errorCode"] == Errors.UNKNOWN_TOPIC_OR_PARTITION else topic

    def _id(self, name: str, partitions: int) -> str:
        """The id of the topic, as soon as the broker knows all its partitions."""
        self._until(
            lambda: len((self._topic(name) or {"partitions": ()})["partitions"]) == partitions
        )
        topic = self._topic(name)
        assert topic is not None
        return str(UUID(bytes=urlsafe_b64decode(topic["topicId"] + "==")))


def _now_ms() -> float:
    return time.time() * 1000


def _has_coordinator(body: Body) -> bool:
    return not NOT_YET & _errors(body["coordinators"])


def _errors(rows: Iterable[Body]) -> set[Errors]:
    return {Errors(row["errorCode"]) for row in rows}


def _check(rows: list[Body]) -> None:
    failed = [row for row in rows if row["errorCode"]]
    if failed:
        raise RuntimeError(f"refused by the broker: {failed}")
