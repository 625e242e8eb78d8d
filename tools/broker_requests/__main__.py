"""Plays scenarios with a real broker and writes what it answered, one line per scenario."""

from __future__ import annotations

import gzip
import json
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.eras import era_of_version
from coordinator_core.log_lines import holds_in
from jobs.segments.batch import Batch
from jobs.segments.reader import read_segment
from tools.broker_requests.client import client
from tools.broker_requests.player import BrokerPlayer
from tools.kafka_broker import Broker

Json = Any
BUILD = Path(__file__).resolve().parents[2] / "build"

# Sessions last a few seconds, so that scenarios are short.
PROPERTIES = """
group.consumer.min.session.timeout.ms=2000
group.consumer.min.heartbeat.interval.ms=500
group.share.min.session.timeout.ms=2000
group.share.min.heartbeat.interval.ms=500
group.streams.min.session.timeout.ms=2000
group.streams.min.heartbeat.interval.ms=500
share.coordinator.state.topic.num.partitions=1
"""
# Share and streams groups are previews in 4.1.
PREVIEWS = """
unstable.api.versions.enable=true
unstable.feature.versions.enable=true
group.coordinator.rebalance.protocols=classic,consumer,share,streams
"""
PREVIEW_FEATURES = ("share.version=1", "streams.version=1")


def main(
    scenarios: Annotated[list[Path], typer.Argument(help="Scenario files or folders.")],
    kafka: Annotated[str, typer.Option(help="Version of the broker: 4.4.0 or 4.1.2.")],
    out: Annotated[Path, typer.Option(help="File for the answers (.jsonl.gz); others in it stay.")],
) -> None:
    era = era_of_version(kafka)
    lines = dict(_answers_of(out))
    for path in _files(scenarios):
        scenario = json.loads(path.read_bytes())
        played = play(scenario, era, kafka)
        lines[played["name"]] = played
        print(f"{played['name']}: {len(played['answers'])} answers of Kafka {kafka}", flush=True)
        _write(out, [lines[name] for name in sorted(lines)])


def play(scenario: Mapping[str, Json], era: Era, kafka: str) -> dict[str, Json]:
    """The answers of a broker of its own, and the ids that it made."""
    jars = BUILD / f"broker-{kafka}" / "lib"
    config = scenario.get("config", {}).get("kafka", {})
    properties = PROPERTIES + "".join(f"{name}={value}\n" for name, value in config.items())
    features: tuple[str, ...] = ()
    if holds_in("-4.1", kafka):
        properties, features = properties + PREVIEWS, PREVIEW_FEATURES
    with tempfile.TemporaryDirectory(prefix="regroup-broker-") as folder:
        broker = Broker(Path(folder), 1, jars, properties, features)

        def restart() -> None:
            broker.stop()
            broker.start()

        with broker, client(jars, broker.bootstrap) as asked:
            player = BrokerPlayer(scenario, era, asked, restart)
            lines = player.play()
            broker.stop()
            records = list(_records(broker.data / "__consumer_offsets-0", player.ended_ms))
    answers = [{**line, "sent_at_ms": player.sent_at_ms[line["to"]]} for line in lines]
    return {
        "name": scenario["name"],
        "kafka": kafka,
        "topic_ids": player.topic_ids,
        "member_ids": list(_made_ids(scenario, answers)),
        "answers": answers,
        "records": records,
    }


def _records(folder: Path, until_ms: int) -> Iterator[tuple[str, str | None]]:
    """Key and value in base64 of the records written until then, in the order of the log."""
    for file in sorted(folder.glob("*.log")):
        for batch in read_segment(file.read_bytes(), partition=0, file=file.name):
            assert isinstance(batch, Batch), f"{file}: {batch}"
            for key, value, at_ms in zip(batch.keys, batch.values, batch.timestamps, strict=True):
                if key is not None and at_ms <= until_ms:
                    yield _text(key), None if value is None else _text(value)


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _made_ids(scenario: Mapping[str, Json], answers: list[dict[str, Json]]) -> Iterator[str]:
    """The ids that the broker made for joins without one, in their order."""
    without_id = {
        step["id"] for step in scenario["steps"] if step["op"] == "join" and not step.get("member")
    }
    joins = [line for line in answers if line["to"] in without_id and line["member"]]
    yield from (line["member"] for line in sorted(joins, key=lambda line: line["sent_at_ms"]))


def _write(out: Path, played: list[dict[str, Json]]) -> None:
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in played)
    out.write_bytes(gzip.compress(text.encode(), mtime=0))


def _answers_of(file: Path) -> Iterator[tuple[str, dict[str, Json]]]:
    if file.exists():
        for line in gzip.decompress(file.read_bytes()).splitlines():
            played = json.loads(line)
            yield played["name"], played


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.glob("*.json")) if path.is_dir() else [path]


if __name__ == "__main__":
    typer.run(main)
