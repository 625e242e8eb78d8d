"""The lines of a change for consumers, as each kind of deployment takes them.

Every process needs a group.instance.id of its own: members with the same one fence each other.
Kafka's clients take ``${HOSTNAME}`` literally; Java clients since 3.5 expand ``${env:NAME}`` with a
config provider, Spring Boot expands ``${NAME}``, librdkafka expands nothing.  In forms with an
environment variable per process, this is `VARIABLE`; a process without the variable does not start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from urllib.parse import quote

from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.client_settings import (
    ClientLine,
    ClientPart,
    ClientSetting,
    RemovedSettings,
    client_parts,
    one_line,
    unique_ids,
)
from coordinator_core.whatif.kafka_names import (
    COMMIT_INTERVAL,
    GROUP_PROTOCOL,
    HEARTBEAT,
    INSTANCE_ID,
    REMOTE_ASSIGNOR,
    SESSION,
    STRATEGY,
)
from coordinator_core.whatif.settings import SettingsChange

VARIABLE = "GROUP_INSTANCE_ID"
_JAVA, _LIBRDKAFKA = "Java", "librdkafka"
_ENVIRONMENT = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
# Client ids of the consumers of Connect's sink connectors, and of Streams' main consumers.
_CONNECTOR = re.compile(r"connector-consumer-(.+)-[0-9]+")
_STREAMS = re.compile(r"(.+)-StreamThread-[0-9]+-consumer")
# Longest name: Kubernetes adds a hash to the name of a StatefulSet, in a label of at most 63
# characters.
_MAX_STATEFUL_SET = 52
_SPRING_REMOVED = RemovedSettings(
    (SESSION, HEARTBEAT, "heartbeat-interval", STRATEGY), "clients refuse them"
)
_NOT_OF_STREAMS = (STRATEGY, GROUP_PROTOCOL, REMOTE_ASSIGNOR)


class Form(StrEnum):
    PROPERTIES = "properties"
    ENV = "env"
    SPRING = "spring"
    KUBERNETES = "kubernetes"
    COMPOSE = "compose"
    CONNECT = "connect"
    STREAMS = "streams"
    LIBRDKAFKA = "librdkafka"


_ANY_CLIENT = (Form.PROPERTIES, Form.KUBERNETES, Form.COMPOSE)


class UnfitForm(ValueError):
    """No client of the group can be configured in the form."""


def require_fit(baseline: Baseline, change: SettingsChange, form: Form) -> None:
    """Raises UnfitForm."""
    kinds = [part.kind for part in client_parts(baseline, change)]
    if not any(_fits(form, kind) for kind in kinds):
        fitting = [each for each in Form if any(_fits(each, kind) for kind in kinds)]
        raise UnfitForm(
            f"{form}: the clients of group {baseline.group_id} are {' and '.join(kinds)};"
            f" must be one of {', '.join(fitting)}"
        )


def _fits(form: Form, kind: str) -> bool:
    return form in _ANY_CLIENT or kind == (_LIBRDKAFKA if form is Form.LIBRDKAFKA else _JAVA)


def client_blocks(
    baseline: Baseline, change: SettingsChange, form: Form | None = None
) -> Iterator[str]:
    """Texts to paste, each into one place: properties, YAML, JSON (an object per line) or
    environment variables.  None: the form that the clients' libraries and client ids show.  Clients
    of a library that the form does not fit get the form of their own library.
    """
    for part in client_parts(baseline, change):
        if part.lines or part.instance_ids:
            fits = form is not None and _fits(form, part.kind)
            yield from _WRITERS[form if form is not None and fits else shown_form(part)](part)


def shown_form(part: ClientPart) -> Form:
    """The form that the evidence shows: a sink connector's consumers, Streams, or the library."""
    for pattern, form in ((_CONNECTOR, Form.CONNECT), (_STREAMS, Form.STREAMS)):
        if part.client_ids and all(map(pattern.fullmatch, part.client_ids)):
            return form
    return Form.LIBRDKAFKA if part.kind == _LIBRDKAFKA else Form.PROPERTIES


# -- writers: the blocks of one library ------------------------------------------------------------


def _properties(part: ClientPart) -> Iterator[str]:
    yield _lines_of(part, *_source(part))
    for process, instance_id in part.instance_ids.items():
        yield f"# only in process {one_line(process)}\n{INSTANCE_ID}={instance_id}"


def _env(part: ClientPart) -> Iterator[str]:
    yield _env_properties(part)
    yield from _environments(part)


def _spring(part: ClientPart) -> Iterator[str]:
    tree = ["spring:", "  kafka:", "    consumer:", "      properties:"]
    lines = [_SPRING_REMOVED if _sets(each, HEARTBEAT) else each for each in part.lines]
    if any(_sets(line, COMMIT_INTERVAL) for line in lines):
        lines.append(f"{COMMIT_INTERVAL} has no effect unless enable-auto-commit is true")
    if part.instance_ids:
        lines += _source(part)
        lines.append("each consumer of a listener container appends its number, such as -0")
        lines.append("a second listener container of the group needs another id (@KafkaListener)")
        lines.append(ClientSetting(INSTANCE_ID, f"${{{VARIABLE}}}"))
    settings = [" " * 8 + text for text in _texts(lines, _yaml_entry)]
    first = f"# application.yml: {part.title}"
    is_set = any(isinstance(line, ClientSetting) and not line.is_later for line in lines)
    yield "\n".join([first, *(tree if is_set else ()), *settings])
    yield from _environments(part)


def _yaml_entry(name: str, value: str) -> str:
    # Spring Boot keeps the dots of a name in brackets.
    return f'"[{name}]": "{value}"'


def _kubernetes(part: ClientPart) -> Iterator[str]:
    if part.instance_ids:
        name = _stateful_set(part)
        yield "\n".join(
            [
                f"# {part.title}; the pods of a Deployment would get new names",
                "apiVersion: apps/v1",
                "kind: StatefulSet",
                "metadata:",
                f"  name: {name}",
                "spec:",
                f"  serviceName: {name}",
                f"  replicas: {len(part.instance_ids)}",
                "  selector:",
                "    matchLabels:",
                f"      app: {name}",
                "  template:",
                "    metadata:",
                "      labels:",
                f"        app: {name}",
                "    spec:",
                "      containers:",
                "        - name: consumer",
                "          image: IMAGE",
                "          env:",
                f"            - name: {VARIABLE}",
                "              valueFrom:",
                "                fieldRef:",
                "                  fieldPath: metadata.name",
            ]
        )
    yield from _in_container(part)


def _stateful_set(part: ClientPart) -> str:
    """A DNS label (RFC 1123).  Quoted, as digits alone would be a number."""
    text = re.sub(r"[^a-z0-9]+", "-", part.name.lower())[-_MAX_STATEFUL_SET:].strip("-")
    return json.dumps(text or "consumer")


def _compose(part: ClientPart) -> Iterator[str]:
    if part.instance_ids:
        lines = [
            f"# {part.title}: one service per process",
            "# replicas share an environment, and their hostnames change with each container",
            "x-consumer: &consumer",
            "  image: IMAGE",
            "services:",
        ]
        for instance_id in part.instance_ids.values():
            lines.append(f'  "{instance_id}":')
            lines.append("    <<: *consumer")
            lines.append("    environment:")
            lines.append(f'      {VARIABLE}: "{instance_id}"')
        yield "\n".join(lines)
    yield from _in_container(part)


def _connect(part: ClientPart) -> Iterator[str]:
    """The lines of a sink connector: all its tasks have the same consumer configuration."""
    named = next(filter(None, map(_CONNECTOR.fullmatch, part.client_ids)), None)
    connector = named[1] if named else part.group_id.removeprefix("connect-")
    lines = [line for line in part.lines if not _sets(line, COMMIT_INTERVAL)]
    overrides = [_prefixed(line, "consumer.override.") for line in [*lines, *_of_one_task(part)]]
    values = _json_values(overrides)
    address = f"/connectors/{quote(connector, safe='')}/config"
    comments = [
        f"# {part.title}: PATCH {address} (since Kafka 3.8; before, PUT all settings)",
        "# workers before Kafka 3.0 need connector.client.config.override.policy=All",
    ]
    yield "\n".join([*(comments if values else comments[:1]), *_comments(overrides)])
    if values:
        yield json.dumps(values)
    of_worker = [_prefixed(line, "consumer.") for line in lines]
    if _json_values(of_worker):
        first = "# or for all sink connectors: properties of each worker, then restart it"
        yield "\n".join([first, *_texts(of_worker, _property)])
    for line in part.lines:
        if isinstance(line, ClientSetting) and line.name == COMMIT_INTERVAL:
            first = "# for all connectors: properties of each worker, then restart it"
            yield f"{first}\noffset.flush.interval.ms={line.value}"


def _of_one_task(part: ClientPart) -> Iterator[ClientLine]:
    ids = list(part.instance_ids.values())
    if len(ids) == 1:
        yield f"{INSTANCE_ID} only as long as tasks.max is 1: all tasks get the same id"
        yield ClientSetting(INSTANCE_ID, ids[0])
    elif ids:
        yield f"no {INSTANCE_ID}: all tasks of a connector would get the same id"


def _streams(part: ClientPart) -> Iterator[str]:
    """Streams has an assignor and group protocols of its own, and commits by itself."""
    lines: list[ClientLine] = []
    for line in part.lines:
        if isinstance(line, ClientSetting) and line.name == COMMIT_INTERVAL:
            lines.append(ClientSetting("commit.interval.ms", line.value))
        elif isinstance(line, ClientSetting) and line.name in _NOT_OF_STREAMS:
            if not line.is_later:
                lines.append(f"not {line.name}={line.value}: Kafka Streams has its own setting")
        elif isinstance(line, ClientSetting) or _sets(line, INSTANCE_ID):
            lines.append(line)
    if part.instance_ids:
        lines.append("Kafka Streams appends the number of the thread, such as -1")
    yield from _env(replace(part, lines=lines, instance_ids=_of_applications(part)))


def _of_applications(part: ClientPart) -> Mapping[str, str]:
    """One instance id per Streams application: its threads are members whose client ids differ in
    the thread's number.
    """
    applications = dict.fromkeys(
        matched[1] if (matched := _STREAMS.fullmatch(name)) else name for name in part.instance_ids
    )
    return dict(zip(applications, unique_ids(applications), strict=True))


def _librdkafka(part: ClientPart) -> Iterator[str]:
    """Each value is a string, which bindings of all languages accept."""
    lines = [*part.lines, *_source(part)]
    values = _json_values(line for line in lines if not isinstance(line, RemovedSettings))
    yield "\n".join([f"# {part.title}", *_comments(lines)])
    if part.instance_ids:
        ids = part.instance_ids.values()
        yield "\n".join(json.dumps(values | {INSTANCE_ID: each}) for each in ids)
    elif values:
        yield json.dumps(values)


_WRITERS: dict[Form, Callable[[ClientPart], Iterator[str]]] = {
    Form.PROPERTIES: _properties,
    Form.ENV: _env,
    Form.SPRING: _spring,
    Form.KUBERNETES: _kubernetes,
    Form.COMPOSE: _compose,
    Form.CONNECT: _connect,
    Form.STREAMS: _streams,
    Form.LIBRDKAFKA: _librdkafka,
}


# -- parts of several forms ------------------------------------------------------------------------


def _in_container(part: ClientPart) -> Iterator[str]:
    """The consumer's configuration if the container's environment has the instance id."""
    if part.kind == _JAVA:
        yield _env_properties(part)
        return
    if part.instance_ids:
        passed = (
            f"the application passes {VARIABLE} as {INSTANCE_ID}: {part.kind} expands no variables"
        )
        part = replace(part, lines=[*part.lines, passed], instance_ids={})
    yield from _WRITERS[shown_form(part)](part)


def _env_properties(part: ClientPart) -> str:
    if not part.instance_ids:
        return _lines_of(part)
    return _lines_of(
        part,
        *_source(part),
        "Java clients since 3.5; with other config providers: config.providers=env,OTHER",
        ClientSetting("config.providers", "env"),
        ClientSetting("config.providers.env.class", _ENVIRONMENT),
        ClientSetting(INSTANCE_ID, f"${{env:{VARIABLE}}}"),
    )


def _environments(part: ClientPart) -> Iterator[str]:
    for process, instance_id in part.instance_ids.items():
        yield f"# environment of process {one_line(process)} only\n{VARIABLE}={instance_id}"


def _lines_of(part: ClientPart, *more: ClientLine) -> str:
    return "\n".join([f"# {part.title}", *_texts([*part.lines, *more], _property)])


def _source(part: ClientPart) -> list[ClientLine]:
    return [part.source] if part.instance_ids else []


def _property(name: str, value: str) -> str:
    return f"{name}={value}"


def _texts(lines: Iterable[ClientLine], entry: Callable[[str, str], str]) -> Iterator[str]:
    """Settings in the form's syntax, everything else as comments."""
    for line in lines:
        if isinstance(line, ClientSetting) and not line.is_later:
            yield entry(line.name, line.value)
        else:
            yield f"# {_comment(line, entry)}"


def _comments(lines: Iterable[ClientLine]) -> Iterator[str]:
    """The comments above a JSON object, which cannot have comments."""
    shown = (line for line in lines if not isinstance(line, ClientSetting) or line.is_later)
    yield from _texts(shown, _json_entry)


def _json_entry(name: str, value: str) -> str:
    return json.dumps({name: value})


def _comment(line: ClientLine, entry: Callable[[str, str], str]) -> str:
    if isinstance(line, ClientSetting):
        return entry(line.name, line.value)
    if isinstance(line, RemovedSettings):
        return f"remove {', '.join(line.names)}" + (f": {line.reason}" if line.reason else "")
    return line


def _json_values(lines: Iterable[ClientLine]) -> dict[str, str | None]:
    """None: removed."""
    values: dict[str, str | None] = {}
    for line in lines:
        if isinstance(line, RemovedSettings):
            values |= dict.fromkeys(line.names)
        elif isinstance(line, ClientSetting) and not line.is_later:
            values[line.name] = line.value
    return values


def _sets(line: ClientLine, name: str) -> bool:
    """Returns whether the line sets or removes the setting of this name."""
    if isinstance(line, RemovedSettings):
        return name in line.names
    return isinstance(line, ClientSetting) and line.name == name


def _prefixed(line: ClientLine, prefix: str) -> ClientLine:
    if isinstance(line, RemovedSettings):
        return line._replace(names=tuple(prefix + name for name in line.names))
    return line._replace(name=prefix + line.name) if isinstance(line, ClientSetting) else line
