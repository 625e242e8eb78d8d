"""Wrap the lines of a broker's log as containers, agents and log stores do."""

import gzip
import json
from datetime import UTC, datetime
from typing import NamedTuple

import zstandard


class Entry(NamedTuple):
    """A line of a broker, and the lines of its stack trace."""

    ms: int
    host: str
    lines: list[str]
    level: str = "INFO"
    logger: str = ""
    message: str = ""  # message without date, level and logger

    @property
    def text(self):
        return "\n".join(self.lines)


def iso(ms, digits=3, zone="Z"):
    fraction = f"{ms % 1000:03}".ljust(digits, "0")[:digits]
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{fraction}{zone}"


def unix(ms):
    return f"{ms // 1000}.{ms % 1000:03}000"


def pod(entry):
    return f"prod-{entry.host}"


# A record per line of the broker ------------------------------------------------------------------

CLOCK = "%b %d %H:%M:%S"


def at(ms, pattern):
    return f"{datetime.fromtimestamp(ms // 1000, UTC):{pattern}}"


def docker(entry, line):
    return {"log": line + "\n", "stream": "stdout", "time": iso(entry.ms, 9)}


def fluent_bit(entry, line):
    kubernetes = {"pod_name": pod(entry), "container_name": "kafka", "host": "node-7"}
    return {"@timestamp": iso(entry.ms), "log": line, "logtag": "F", "kubernetes": kubernetes}


def journal(entry, line):
    return {
        "__REALTIME_TIMESTAMP": f"{entry.ms}000",
        "_HOSTNAME": entry.host,
        "PRIORITY": "6",
        "_SYSTEMD_UNIT": "kafka.service",
        "MESSAGE": line,
    }


def journal_of_bytes(entry, line):
    return journal(entry, list(f"\x1b[32m{line}\x1b[0m".encode()))


def stern_json(entry, line):
    names = {"podName": pod(entry), "containerName": "kafka", "nodeName": "node-7"}
    return {"message": line, "namespace": "kafka", **names}


def cloudwatch_event(entry, line):
    return {
        "logStreamName": f"{entry.host}/server",
        "timestamp": entry.ms,
        "message": line,
        "ingestionTime": entry.ms + 5000,
        "eventId": "36",
    }


def cri(entry, line):
    """Lines of more than 100 characters in parts."""
    parts = [line[at : at + 100] for at in range(0, len(line), 100)] or [""]
    tags = ["P"] * (len(parts) - 1) + ["F"]
    date = iso(entry.ms, 9)
    return "\n".join(f"{date} stdout {t} {p}" for t, p in zip(tags, parts, strict=True))


PER_LINE = {
    "plain": lambda e, line: line,
    "docker json-file": lambda e, line: json.dumps(docker(e, line)),
    "docker logs --timestamps": lambda e, line: f"{iso(e.ms, 9)} {line}",
    "docker compose logs": lambda e, line: f"{e.host}  | {line}",
    "docker compose logs --timestamps": lambda e, line: f"{e.host}  | {iso(e.ms, 9)} {line}",
    "CRI": cri,
    "Fluent Bit": lambda e, line: json.dumps(fluent_bit(e, line)),
    "Fluentd": lambda e, line: f"{iso(e.ms, 3)}\tkafka.{e.host}\t{json.dumps(fluent_bit(e, line))}",
    "kubectl --prefix": lambda e, line: f"[pod/{pod(e)}/kafka] {line}",
    "kubectl --prefix --timestamps": lambda e, line: f"[pod/{pod(e)}/kafka] {iso(e.ms, 9)} {line}",
    "stern": lambda e, line: f"{pod(e)} kafka {line}",
    "stern in color": lambda e, line: f"\x1b[96m{pod(e)}\x1b[0m \x1b[36mkafka\x1b[0m {line}",
    "stern -A": lambda e, line: f"kafka {pod(e)} kafka {line}",
    "stern -o json": lambda e, line: json.dumps(stern_json(e, line)),
    "kail": lambda e, line: f"kafka/{pod(e)}[kafka]: {line}",
    "journalctl -o json": lambda e, line: json.dumps(journal(e, line)),
    "journalctl -o json, bytes": lambda e, line: json.dumps(journal_of_bytes(e, line)),
    "journalctl -o json-seq": lambda e, line: "\x1e" + json.dumps(journal(e, line)),
    "journalctl -o json-sse": lambda e, line: f"data: {json.dumps(journal(e, line))}\n",
    "journalctl -o json-pretty": lambda e, line: json.dumps(journal(e, line), indent=1),
    "journalctl -o short": lambda e, line: f"{at(e.ms, CLOCK)} {e.host} kafka[812]: {line}",
    "journalctl -o short-precise": lambda e, line: (
        f"{at(e.ms, CLOCK)}.{e.ms % 1000:03}000 {e.host} kafka-server-start.sh[812]: {line}"
    ),
    "journalctl -o short-iso": lambda e, line: (
        f"{iso(e.ms, 0, '').rstrip('.')}+00:00 {e.host} kafka[812]: {line}"
    ),
    "journalctl -o short-full": lambda e, line: (
        f"{at(e.ms, '%a %Y-%m-%d %H:%M:%S')} UTC {e.host} kafka[812]: {line}"
    ),
    "journalctl -o short-unix": lambda e, line: f"{unix(e.ms)} {e.host} kafka[812]: {line}",
    "journalctl -o cat": lambda e, line: line,
    "syslog (RFC 5424)": lambda e, line: f"<134>1 {iso(e.ms)} {e.host} kafka 812 - - {line}",
    "syslog (RFC 3164)": lambda e, line: f"<134>{at(e.ms, CLOCK)} {e.host} kafka[812]: {line}",
    "CloudWatch's export to S3": lambda e, line: f"{iso(e.ms)} {line}",
    "aws logs tail": lambda e, line: f"{iso(e.ms, 6, '+00:00')} {e.host}/server {line}",
    "logcli": lambda e, line: f'{iso(e.ms)} {{app="kafka", pod="{pod(e)}"}} {line}',
    "logcli -o jsonl": lambda e, line: json.dumps(
        {"labels": {"pod": pod(e)}, "line": line, "timestamp": iso(e.ms)}
    ),
    "Datadog's archive": lambda e, line: json.dumps(
        {"_id": "1", "date": iso(e.ms), "host": e.host, "message": line, "status": "info"}
    ),
}
# Without the time of the store, the lines of a stack trace do not follow their first line after a
# reversal.
DATED_LINES = {
    *("docker json-file", "docker logs --timestamps", "docker compose logs --timestamps"),
    *("Fluent Bit", "Fluentd", "kubectl --prefix --timestamps", "journalctl -o json"),
    *("journalctl -o json-pretty", "CloudWatch's export to S3", "aws logs tail", "logcli"),
    *("logcli -o jsonl", "Datadog's archive", "journalctl -o json, bytes"),
}


def per_line(shape, entries, *, newest_first=False):
    lines = [PER_LINE[shape](entry, line) for entry in entries for line in entry.lines]
    return "\n".join([*(reversed(lines) if newest_first else lines), ""])


# A record per entry -------------------------------------------------------------------------------


def source(entry):
    return {
        "@timestamp": iso(entry.ms),
        "message": entry.text,
        "host": {"name": entry.host},
        "log": {"offset": 7, "file": {"path": "/var/log/kafka/server.log"}},
    }


def hit(entry):
    return {"_index": "kafka-2026.11", "_id": "x", "_score": None, "_source": source(entry)}


def hit_of_fields(entry):
    fields = {"@timestamp": [iso(entry.ms)], "message": [entry.text], "host.name": [entry.host]}
    return {"_index": "kafka-2026.11", "_id": "x", "fields": fields}


def splunk(entry):
    zoned = iso(entry.ms, 3, "+0000")
    result = {"_raw": entry.text, "_time": zoned, "host": entry.host, "sourcetype": "kafka"}
    return {"preview": False, "offset": 0, "result": result}


def datadog(entry):
    attributes = {"timestamp": iso(entry.ms), "message": entry.text, "host": entry.host}
    return {"id": "A", "type": "log", "attributes": {**attributes, "status": "info"}}


def google(entry, payload):
    labels = {"pod_name": pod(entry), "container_name": "kafka", "cluster_name": "c"}
    return {
        "insertId": "1",
        "resource": {"type": "k8s_container", "labels": labels},
        "severity": "INFO",
        "timestamp": iso(entry.ms, 9),
        **payload,
    }


def layout(entry, **fields):
    """The fields of a JSON layout; a trace in a field of its own."""
    trace = "\n".join(entry.lines[1:])
    return {name: value for name, value in fields.items() if value} | (
        {"stack_trace": trace} if trace and "thrown" not in fields else {}
    )


def log4j2(entry):
    instant = {"epochSecond": entry.ms // 1000, "nanoOfSecond": entry.ms % 1000 * 1_000_000}
    thrown = {"extendedStackTrace": "\n".join(entry.lines[1:])} if entry.lines[1:] else None
    return layout(
        entry,
        instant=instant,
        thread="main",
        level=entry.level,
        loggerName=entry.logger,
        message=entry.message,
        thrown=thrown or {"extendedStackTrace": ""},
        hostname=entry.host,
    )


def ecs(entry):
    names = {"log.level": entry.level, "log.logger": entry.logger, "host.name": entry.host}
    trace = "\n".join(entry.lines[1:])
    error = {"error.stack_trace": trace} if trace else {}
    return {"@timestamp": iso(entry.ms), "message": entry.message, **names, **error}


def gelf(entry):
    return {
        "version": "1.1",
        "host": entry.host,
        "short_message": entry.message,
        "full_message": "\n".join([entry.message, *entry.lines[1:]]),
        "timestamp": entry.ms / 1000,
        "level": 4 if entry.level == "WARN" else 6,
        "_logger": entry.logger,
    }


def logstash(entry):
    names = {"level": entry.level, "logger_name": entry.logger, "HOSTNAME": entry.host}
    return layout(
        entry, **{"@timestamp": iso(entry.ms), "@version": 1, "message": entry.message}, **names
    )


PER_ENTRY = {
    "Splunk's raw export": lambda e: e.text,
    "elasticdump": lambda e: json.dumps(hit(e)),
    "fields of Elasticsearch": lambda e: json.dumps(hit_of_fields(e)),
    "Filebeat": lambda e: json.dumps(source(e)),
    "Splunk's JSON export": lambda e: json.dumps(splunk(e)),
    "Google Cloud's sink": lambda e: json.dumps(google(e, {"textPayload": e.text})),
    "log4j2 JsonLayout": lambda e: json.dumps(log4j2(e)),
    "JsonTemplateLayout, ECS": lambda e: json.dumps(ecs(e)),
    "JsonTemplateLayout, GELF": lambda e: json.dumps(gelf(e)),
    "logstash": lambda e: json.dumps(logstash(e)),
    "docker json-file around ECS": lambda e: json.dumps(docker(e, json.dumps(ecs(e)))),
    "CRI around logstash": lambda e: f"{iso(e.ms, 9)} stdout F {json.dumps(logstash(e))}",
}


def per_entry(shape, entries, *, newest_first=False):
    records = [PER_ENTRY[shape](entry) for entry in entries]
    return "\n".join([*(reversed(records) if newest_first else records), ""])


# Documents ----------------------------------------------------------------------------------------


def loki(entries):
    """A stream for each broker and level."""
    streams = {}
    for entry in entries:
        labels = (pod(entry), entry.level)
        streams.setdefault(labels, []).append([f"{entry.ms}000000", entry.text])
    result = [
        {"stream": {"app": "kafka", "pod": name, "level": level}, "values": values}
        for (name, level), values in streams.items()
    ]
    return {"status": "success", "data": {"resultType": "streams", "result": result}}


def subscription(entries):
    """CloudWatch's objects for each stream, one after the other."""
    out = []
    for host in dict.fromkeys(entry.host for entry in entries):
        events = [
            {"id": "1", "timestamp": e.ms, "message": e.text} for e in entries if e.host == host
        ]
        data = {"messageType": "DATA_MESSAGE", "logGroup": "kafka", "logStream": host}
        out.append(json.dumps(data | {"logEvents": events}))
    return "".join(out)


def insights(entries):
    rows = [
        [
            {"field": "@timestamp", "value": iso(e.ms, 3, "").replace("T", " ")},
            {"field": "@message", "value": e.text},
            {"field": "@logStream", "value": e.host},
        ]
        for e in entries
    ]
    return json.dumps({"results": rows, "status": "Complete"})


DOCUMENTS = {
    "a response of Elasticsearch": lambda es: json.dumps(
        {"took": 1, "hits": {"total": {"value": 1}, "hits": [hit(e) for e in es]}}, indent=2
    ),
    "a response of Loki": lambda es: json.dumps(loki(es)),
    "aws logs filter-log-events": lambda es: json.dumps(
        {"events": [cloudwatch_event(e, line) for e in es for line in e.lines]}, indent=4
    ),
    "CloudWatch's subscription": subscription,
    "CloudWatch Logs Insights": insights,
    "a response of Datadog": lambda es: json.dumps({"data": [datadog(e) for e in es]}),
    "gcloud logging read": lambda es: json.dumps(
        [google(e, {"jsonPayload": {"message": e.text}}) for e in es], indent=2
    ),
    "Splunk's search results": lambda es: json.dumps(
        {"preview": False, "results": [splunk(e)["result"] for e in es]}
    ),
    "Grafana Explore": lambda es: json.dumps(
        [
            {
                "line": e.text,
                "timestamp": f"{e.ms}000000",
                "date": iso(e.ms),
                "fields": {"pod": pod(e)},
            }
            for e in es
        ]
    ),
    "log4j2 JsonLayout, complete": lambda es: json.dumps([log4j2(e) for e in es], indent=2),
    "a JSON array": lambda es: json.dumps([source(e) for e in es]),
}
PACKED = {"gzip": lambda text: gzip.compress(text, mtime=0), "zstd": zstandard.compress}
