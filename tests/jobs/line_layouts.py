# ruff: noqa: E501 - lines of logs stay on one line
"""Write messages in the layouts of loggers, agents, exports and people.

The layouts are those that the tools' documentation shows, written independently of the reader.  A
message has a local time in Berlin; exports and containers print UTC.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

BERLIN = ZoneInfo("Europe/Berlin")


class Message(NamedTuple):
    """A logged message; ``at`` is aware, in Berlin's time."""

    at: datetime
    level: str
    logger: str
    text: str

    @property
    def ms(self):
        return self.at.microsecond // 1000

    @property
    def short(self):
        *packages, name = self.logger.split(".")
        return ".".join([*(package[0] for package in packages), name])

    @property
    def name(self):
        return self.logger.rsplit(".", 1)[-1]

    def local(self, pattern):
        return f"{self.at:{pattern}}".replace("%L", f"{self.ms:03}")

    def utc(self, pattern):
        return f"{self.at.astimezone(UTC):{pattern}}".replace("%L", f"{self.ms:03}")

    @property
    def epoch_ms(self):
        return int(self.at.timestamp()) * 1000 + self.ms


ISO, KAFKA = "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"
OFFSET = "+02:00"


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def logfmt(text):
    return json.dumps(text, ensure_ascii=False)


def own(m):
    """As Kafka's own layout prints it."""
    return f"[{m.local(KAFKA)},{m.ms:03}] {m.level} {m.text} ({m.logger})"


def twelve(m):
    hour = m.at.hour % 12 or 12
    return f"{m.at:%b} {m.at.day}, {m.at:%Y} {hour}:{m.at:%M:%S} {m.at:%p}"


def two_lines(m):
    word = {"INFO": "info", "WARN": "warn", "ERROR": "fail"}[m.level]
    return f"{m.local(KAFKA)}.{m.ms:03} {word}: {m.logger}[7]\n      {m.text}"


def letter(m):
    return m.level[0]


# layout -> function that returns the text of a message.  The times in these layouts are complete,
# or the rest of the file completes them.
LAYOUTS = {
    "Spring Boot 2": lambda m: (
        f"{m.local(KAFKA)}.{m.ms:03} {m.level:>5} 4711 --- [ntainer#0-0-C-1] {m.short:<40} : {m.text}"
    ),
    "Spring Boot 3": lambda m: (
        f"{m.local(ISO)}.{m.ms:03}{OFFSET} {m.level:>5} 1 --- [shop] [ntainer#0-0-C-1] {m.short:<40} : {m.text}"
    ),
    "Logstash": lambda m: (
        f"[{m.local(ISO)},{m.ms:03}][{m.level:<5}][{m.logger}][main][a41f] {m.text}"
    ),
    "java.util.logging": lambda m: (
        f"{twelve(m)} {m.logger} handle\n{ {'WARN': 'WARNING', 'ERROR': 'SEVERE'}.get(m.level, m.level) }: {m.text}"
    ),
    "Spark": lambda m: f"{m.local('%y/%m/%d %H:%M:%S')} {m.level} {m.name}: {m.text}",
    "day, month and year": lambda m: (
        f"{m.local('%d-%m-%Y %H:%M:%S')}.{m.ms:03} [main] {m.level:<5} {m.logger} - {m.text}"
    ),
    "points": lambda m: f"{m.local('%d.%m.%Y %H:%M:%S')},{m.ms:03} {m.level} {m.text} ({m.logger})",
    "slashes, year first": lambda m: f"{m.local('%Y/%m/%d %H:%M:%S')} [{m.level.lower()}] {m.text}",
    "slashes, day first": lambda m: (
        f"{m.local('%d/%m/%Y %H:%M:%S')}.{m.ms:03} {m.level} [{m.logger}] {m.text}"
    ),
    "Akka": lambda m: (
        f"[{m.level}] [{m.local('%m/%d/%Y %H:%M:%S')}.{m.ms:03}] [shop-akka.actor.default-dispatcher-4]"
        f" [{m.logger}(akka://shop)] {m.text}"
    ),
    "American": lambda m: (
        f"{m.local('%m/%d/%Y %I:%M:%S')}.{m.ms:03} {m.local('%p')} {m.level} {m.text}"
    ),
    "level first": lambda m: (
        f"{m.level:<5} [main] {m.local(KAFKA)},{m.ms:03} {m.logger}.handle:41 - {m.text}"
    ),
    "bars": lambda m: (
        f"{m.local(KAFKA)}.{m.ms:03} | {m.level:<5} | main | {m.text} | {m.logger} (X.java:41)"
    ),
    "logfmt": lambda m: (
        f"ts={m.utc(ISO)}.{m.ms:03}Z level={m.level.lower()} logger={m.logger} msg={logfmt(m.text)} pod=a-0"
    ),
    "logrus": lambda m: (
        f'time="{m.local(ISO)}{OFFSET}" level={m.level.lower()} msg={logfmt(m.text)} logger={m.logger}'
    ),
    "zap": lambda m: json.dumps(
        {
            "level": m.level.lower(),
            "ts": m.epoch_ms / 1000,
            "caller": "app/log.go:41",
            "msg": m.text,
        }
    ),
    "zap for people": lambda m: f"{m.utc(ISO)}.{m.ms:03}Z\t{m.level}\tapp/log.go:41\t{m.text}",
    "zerolog": lambda m: json.dumps(
        {"level": m.level.lower(), "logger": m.logger, "message": m.text, "time": m.epoch_ms}
    ),
    "zerolog with a short name": lambda m: json.dumps(
        {"level": m.level.lower(), "logger": "app", "message": m.text, "time": m.epoch_ms}
    ),
    "bunyan": lambda m: json.dumps(
        {
            "name": "app",
            "hostname": "a-0",
            "pid": 7,
            "level": 30,
            "msg": m.text,
            "time": f"{m.utc(ISO)}.{m.ms:03}Z",
            "v": 0,
        }
    ),
    "pino": lambda m: json.dumps({"level": 30, "time": m.epoch_ms, "pid": 7, "msg": m.text}),
    "Python": lambda m: f"{m.local(KAFKA)},{m.ms:03} - {m.logger} - {m.level} - {m.text}",
    "Rust's tracing": lambda m: (
        f"{m.utc(ISO)}.{m.ms:03}417Z {m.level:>5} main {m.logger.replace('.', '::')}: {m.text}"
    ),
    "env_logger": lambda m: f"[{m.utc(ISO)}Z {m.level:<5} app::log] {m.text}",
    ".NET": two_lines,
    "Ruby": lambda m: (
        f"{letter(m)}, [{m.local(ISO)}.{m.ms:03}417 #7] {m.level:>5} -- {m.logger}: {m.text}"
    ),
    "Monolog": lambda m: f"[{m.local(ISO)}.{m.ms:03}417{OFFSET}] shop.{m.level}: {m.text} [] []",
    "winston": lambda m: f"{m.utc(ISO)}.{m.ms:03}Z [shop] {m.level.lower()}: {m.text}",
    "syslog of RFC 5424": lambda m: (
        f"<134>1 {m.utc(ISO)}.{m.ms:03}Z a-0 app 7 - - {m.level} {m.logger} {m.text}"
    ),
    "date with slashes and month": lambda m: (
        f"[{m.local('%d/%b/%Y:%H:%M:%S')} +0200] {m.level} {m.logger}: {m.text}"
    ),
    "Tomcat": lambda m: (
        f"{m.local('%d-%b-%Y %H:%M:%S')}.{m.ms:03} {m.level} [main] {m.logger}.handle {m.text}"
    ),
    "packed": lambda m: (
        f"{m.local('%Y%m%dT%H%M%S')}.{m.ms:03}+0200 {m.level} {m.text} ({m.logger})"
    ),
    "seconds since 1970": lambda m: f"{m.epoch_ms / 1000:.3f} {m.level} {m.logger} {m.text}",
    "date last": lambda m: f"{m.level} {m.text} ({m.logger}) [{m.local(KAFKA)}.{m.ms:03}]",
    "level with spaces": lambda m: f"{m.utc(ISO)}.{m.ms:03}Z {m.level:<5} {m.logger}: {m.text}",
    "structlog": lambda m: (
        f"{m.utc(ISO)}.{m.ms:03}417Z [{m.level.lower():<9}] {m.text:<30} [kafka.app] pid=7"
    ),
    "log4j's XML": lambda m: (
        f'<log4j:event logger="{m.logger}" timestamp="{m.epoch_ms}" level="{m.level}" thread="main">'
        f"<log4j:message><![CDATA[{m.text}]]></log4j:message></log4j:event>"
    ),
    "date again in pairs": lambda m: (
        f"[Nest] 1  - {m.local('%m/%d/%Y, %I:%M:%S %p')}     LOG [Kafka] {m.text} "
        + json.dumps({"timestamp": f"{m.utc(ISO)}.{m.ms:03}Z", "logger": "kafka"})
    ),
    "Serilog's JSON": lambda m: json.dumps(
        {
            "@t": f"{m.utc(ISO)}.{m.ms:03}0000Z",
            "@m": m.text,
            "@l": {"INFO": "Information", "WARN": "Warning"}[m.level],
            "SourceContext": m.logger,
        }
    ),
    "Python without seconds": lambda m: f"{m.local('%Y-%m-%d %H:%M')} {m.level:<8} {m.text}",
    "CloudWatch's CSV": lambda m: f"{m.utc(KAFKA)}.{m.ms:03},{quoted(own(m))}",
    "Kibana's CSV": lambda m: (
        f'"{m.at:%b} {m.at.day}, {m.at:%Y} @ {m.at:%H:%M:%S}.{m.ms:03}","a-0",{quoted(m.level + " " + m.text)}'
    ),
    "Splunk's CSV": lambda m: (
        f'{quoted(own(m))},"{m.local(ISO)}.{m.ms:03}+0200","a-0","/var/log/app.log","kafka"'
    ),
    "Datadog's CSV": lambda m: (
        f'"{m.utc(ISO)}.{m.ms:03}Z","a-0","shop",{quoted(f"{m.level} {m.logger} {m.text}")}'
    ),
    "Grafana's CSV": lambda m: f'{m.epoch_ms}000000,{quoted(own(m))},"{{app=""shop""}}"',
    "JSON in CSV": lambda m: (
        '"'
        + m.utc(ISO)
        + f'.{m.ms:03}Z",'
        + quoted(json.dumps({"level": m.level, "logger": m.logger, "message": m.text}))
    ),
    "grep -n": lambda m: f"logs/app-2023-01-01.log:417:{own(m)}",
    "grep -A": lambda m: f"logs/app.log-417-{m.local(KAFKA)},{m.ms:03} {m.level} {m.text}",
    "Markdown": lambda m: f"  > - `{own(m)}`",
    "comments": lambda m: f"  // {own(m)}  // <-- again",
    "HTML": lambda m: f"<li>{own(m)}<br/>",
    "CRI around Spring Boot": lambda m: (
        f"{m.utc(ISO)}.{m.ms:03}417000Z stdout F {LAYOUTS['Spring Boot 2'](m)}"
    ),
    "CRI around Python without a time": lambda m: (
        f"{m.utc(ISO)}.{m.ms:03}417000Z stdout F {m.level}:{m.logger}:{m.text}"
    ),
    "kubectl --timestamps around logback": lambda m: (
        f"{m.utc(ISO)}.{m.ms:03}417000Z {TIME_ONLY['logback'](m)}"
    ),
    "a terminal's time before it": lambda m: f"[{m.local(KAFKA)}] app-1  | {own(m)}",
}
# Layouts without a date; the first line, or an option, gives the date.
TIME_ONLY = {
    "logback": lambda m: (
        f"{m.local('%H:%M:%S')}.{m.ms:03} [main] {m.level:<5} {m.short} - {m.text}"
    ),
    "Serilog": lambda m: f"[{m.local('%H:%M:%S')} {m.level[:3]}] {m.text}",
    "compose around logback": lambda m: f"app-1  | {TIME_ONLY['logback'](m)}",
}
NO_YEAR = {
    "syslog of RFC 3164": lambda m: (
        f"<134>{m.at:%b} {m.at.day:>2} {m.at:%H:%M:%S} a-0 app[7]: {m.level} {m.logger} {m.text}"
    ),
    "syslog": lambda m: f"{m.at:%b} {m.at.day:>2} {m.at:%H:%M:%S} a-0 app[7]: {m.text}",
    "klog": lambda m: (
        f"{letter(m)}{m.local('%m%d %H:%M:%S')}.{m.ms:03}417       7 log.go:41] {m.text}"
    ),
}
NO_YEAR |= {
    "month and day": lambda m: (
        f"{m.local('%m-%d %H:%M:%S')}.{m.ms:03} [main] {m.level} {m.logger} - {m.text}"
    ),
    "month and day without seconds": lambda m: (
        f"{m.local('%m-%d %H:%M')} {m.logger:<12} {m.level:<8} {m.text}"
    ),
    "day and month": lambda m: f"{m.local('%d/%m %H:%M:%S')},{m.ms:03} {m.level} {m.text}",
}
NO_TIME = {
    "Python without a time": lambda m: f"{m.level}:{m.logger}:{m.text}",
    "a short time": lambda m: f"{m.local('%H:%M')} {m.level[:3]} {m.text}",
}

GROUP = "kafka.coordinator.group.GroupCoordinator"
EXPIRY = "removing member m-{0} on heartbeat expiration"
OF_BROKERS = [
    "[GroupCoordinator 3]: Preparing to rebalance group g in state PreparingRebalance with old generation {0} (__consumer_offsets-8) (reason: "
    + EXPIRY
    + ")",
    "[GroupCoordinator 3]: Stabilized group g generation {0} (__consumer_offsets-8) with 2 members",
    '[GroupCoordinator 3]: Stabilized group "a, b" generation {0} (__consumer_offsets-8) with 2 members',
    "[GroupCoordinator 3]: Assignment received from leader m-1 for group g for generation {0}. The group has 2 members, 0 of which are static.",
    "[GroupCoordinator 3]: Group g with generation {0} is now empty (__consumer_offsets-8)",
]
CONSUMER = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
CONTEXT = "[Consumer clientId=c-1, groupId=orders|eu] "
OF_CLIENTS = [
    "Successfully joined group with generation Generation{{generationId={0}, memberId='m-1', protocol='range'}}",
    "Finished assignment for group at generation {0}: {{m-1=Assignment(partitions=[orders-0])}}",
    "Successfully synced group in generation Generation{{generationId={0}, memberId='m-1', protocol='range'}}",
]
FIRST = datetime(2026, 5, 11, 22, 10, 7, 123_000, BERLIN)


def broker_messages(count):
    return [
        Message(
            FIRST + n * timedelta(minutes=7, milliseconds=31),
            ("INFO", "WARN")[n % 2],
            GROUP,
            OF_BROKERS[n % 5].format(n),
        )
        for n in range(count)
    ]


def client_messages(count):
    return [
        Message(
            FIRST + n * timedelta(minutes=11, milliseconds=31),
            "INFO",
            CONSUMER,
            CONTEXT + OF_CLIENTS[n % 3].format(n),
        )
        for n in range(count)
    ]
