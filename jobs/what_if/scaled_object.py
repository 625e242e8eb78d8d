"""The policy of a KEDA ScaledObject, and the fields that no replay honours.

Reads the part of YAML that such a file uses: documents, mappings, lists, plain or quoted values,
and blocks of text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from coordinator_core.whatif.autoscaler import (
    SCALE_DOWN,
    SCALE_UP,
    Policy,
    ScalingPolicy,
    ScalingRules,
    Select,
)
from jobs.console.errors import UsageError

_LINE = re.compile(
    r" *(?P<dashes>(?:- +|-$)*)(?:[\"']?(?P<key>[\w./-]+)[\"']?:(?:\s+(?P<value>.*))?|(?P<item>.*))"
)
_KAFKA = ("kafka", "apache-kafka")
_BEHAVIOR = "spec.advanced.horizontalPodAutoscalerConfig.behavior"
_SPEC_FIELDS = (
    *("minReplicaCount", "maxReplicaCount", "pollingInterval", "cooldownPeriod", "scaleTargetRef"),
    "restoreToOriginalReplicaCount",
)
# Fields of a trigger that the replay honors, or that do not change the lag.
_TRIGGER_FIELDS = (
    *("type", "name", "useCachedMetrics", "authenticationRef", "version", "sasl", "tls"),
    *("bootstrapServers", "bootstrapServersFromEnv", "unsafeSsl", "offsetResetPolicy"),
    *("consumerGroup", "consumerGroupFromEnv", "topic", "topicFromEnv"),
    *("lagThreshold", "activationLagThreshold", "allowIdleConsumers"),
)
# Values with which a field has no effect.
_WITHOUT_EFFECT = ("false", "AverageValue", "0")
# Minimum values of numeric fields; the minimum of all other numbers is 1.
_LEAST = {
    "minReplicaCount": 0,
    "idleReplicaCount": 0,
    "cooldownPeriod": 0,
    "stabilizationWindowSeconds": 0,
    "activationLagThreshold": 0,
}


class ScaledObject(NamedTuple):
    """``topic`` says whose lag counts; ``topic`` is None for all topics of the group.
    ``not_simulated`` has names of fields of the file.
    """

    policy: Policy
    topic: str | None
    not_simulated: tuple[str, ...]


def scaled_object_of(file: str, group_id: str) -> ScaledObject:
    """Raises UsageError, with the file and what to change."""
    option = f"--autoscaler {file}"
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise UsageError(f"{option}: {reason}; give the YAML file of a ScaledObject") from None
    objects = [each for each in _objects(text, option) if each.get("kind") == "ScaledObject"]
    if not objects:
        raise UsageError(f"{option}: kind is not ScaledObject; give KEDA's file")
    triggers = [(each, name) for each in objects for name in _kafka_triggers(each)]
    if not triggers:
        raise UsageError(f"{option}: no trigger of type kafka or apache-kafka")
    groups = [each.get(f"{name}.metadata.consumerGroup", group_id) for each, name in triggers]
    if group_id not in groups:
        named = ", ".join(dict.fromkeys(groups))
        raise UsageError(f"{option}: consumerGroup {named} is not --group {group_id}")
    values, trigger = triggers[groups.index(group_id)]
    policy = _policy(values, trigger, option)
    if policy.min_replicas > policy.max_replicas:
        raise UsageError(f"{option}: minReplicaCount is larger than maxReplicaCount")
    topic = values.get(f"{trigger}.metadata.topic")
    return ScaledObject(policy, topic, tuple(dict.fromkeys(_not_simulated(values, trigger))))


def _kafka_triggers(values: Mapping[str, str]) -> Iterator[str]:
    for name, value in values.items():
        if re.fullmatch(r"spec\.triggers\.\d+\.type", name) and value in _KAFKA:
            yield name.removesuffix(".type")


def _policy(values: Mapping[str, str], trigger: str, option: str) -> Policy:
    usual = Policy()

    def number(name: str, default: int) -> int:
        return _number(values, name, default, option)

    least = number("spec.minReplicaCount", usual.min_replicas)
    return Policy(
        lag_threshold=number(f"{trigger}.metadata.lagThreshold", usual.lag_threshold),
        min_replicas=least,
        max_replicas=number("spec.maxReplicaCount", usual.max_replicas),
        polling_s=number("spec.pollingInterval", usual.polling_s),
        cooldown_s=number("spec.cooldownPeriod", usual.cooldown_s),
        activation_lag=number(f"{trigger}.metadata.activationLagThreshold", usual.activation_lag),
        idles=number("spec.idleReplicaCount", least) == 0,
        allows_idle=values.get(f"{trigger}.metadata.allowIdleConsumers") == "true",
        up=_rules(values, "scaleUp", SCALE_UP, option) if _has_behavior(values) else None,
        down=_rules(values, "scaleDown", SCALE_DOWN, option),
    )


def _has_behavior(values: Mapping[str, str]) -> bool:
    return any(name.startswith(f"{_BEHAVIOR}.") for name in values)


def _number(values: Mapping[str, str], name: str, default: int, option: str) -> int:
    text, field = values.get(name), name.rpartition(".")[2]
    if text is None:
        return default
    least = _LEAST.get(field, 1)
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise UsageError(f"{option}: {field} {text}: must be at least {least}")
    return int(text)


def _rules(
    values: Mapping[str, str], direction: str, default: ScalingRules, option: str
) -> ScalingRules:
    name = f"{_BEHAVIOR}.{direction}"
    window = f"{name}.stabilizationWindowSeconds"
    select = values.get(f"{name}.selectPolicy", default.select)
    if select not in list(Select):
        raise UsageError(f"{option}: selectPolicy {select}: not one of {', '.join(Select)}")
    policies = tuple(_scaling_policies(values, f"{name}.policies", option))
    return ScalingRules(
        _number(values, window, default.window_s, option),
        policies or default.policies,
        Select(select),
    )


def _scaling_policies(values: Mapping[str, str], name: str, option: str) -> Iterator[ScalingPolicy]:
    count = 0
    while kind := values.get(f"{name}.{count}.type"):
        texts = [values.get(f"{name}.{count}.{field}", "") for field in ("value", "periodSeconds")]
        if not all(text.isascii() and text.isdigit() and int(text) for text in texts):
            raise UsageError(f"{option}: policies: value and periodSeconds must be at least 1")
        if kind not in ("Pods", "Percent"):
            raise UsageError(f"{option}: policies: type {kind}: not one of Pods, Percent")
        yield ScalingPolicy(kind == "Percent", *map(int, texts))
        count += 1


# -- fields without effect on the replay -----------------------------------------------------------


def _not_simulated(values: Mapping[str, str], trigger: str) -> Iterator[str]:
    """Each field is listed once; a trigger that is omitted is listed with its type."""
    for name, value in values.items():
        other = re.match(r"spec\.triggers\.(\d+)\.", name)
        if name.startswith("metadata.annotations.autoscaling.keda.sh/"):
            yield name.removeprefix("metadata.annotations.")
        elif name.startswith(f"{trigger}."):
            path = name.removeprefix(f"{trigger}.").removeprefix("metadata.")
            yield from _unless_read(path, value, _TRIGGER_FIELDS)
        elif other is not None:
            yield f"triggers[{other[1]}] ({values.get(f'{other[0]}type', 'no type')})"
        elif name.startswith(f"{_BEHAVIOR}."):
            if name.endswith(".tolerance"):
                yield "tolerance"
        elif name.startswith("spec."):
            path = name.removeprefix("spec.").removeprefix("advanced.")
            yield from _unless_read(path, value, _SPEC_FIELDS)


def _unless_read(path: str, value: str, read: tuple[str, ...]) -> Iterator[str]:
    field = path.partition(".")[0]
    if field not in read and value not in _WITHOUT_EFFECT:
        yield field


# -- YAML ------------------------------------------------------------------------------------------


def _objects(text: str, option: str) -> Iterator[dict[str, str]]:
    """Values by the path of their keys, of each document, and of each item of a List."""
    document: list[tuple[int, str]] = []
    for number, line in enumerate([*text.splitlines(), "---"], 1):
        if not line.startswith("---"):
            document.append((number, line))
            continue
        values = dict(_values(document, option))
        document = []
        if values.get("kind") == "List":
            yield from _items(values)
        elif values:
            yield values


def _items(values: Mapping[str, str]) -> Iterable[dict[str, str]]:
    items: dict[str, dict[str, str]] = {}
    for name, value in values.items():
        first, _, rest = name.partition(".")
        if first == "items":
            number, _, path = rest.partition(".")
            items.setdefault(number, {})[path] = value
    return items.values()


def _values(lines: Iterable[tuple[int, str]], option: str) -> Iterator[tuple[str, str]]:
    """A list's items have their numbers as keys."""
    path: list[_Key] = []
    counts: Counter[str] = Counter()
    block_indent: int | None = None
    for number, line in lines:
        bare = re.sub(r"(^|\s)#.*$", "", line).rstrip()
        indent = len(bare) - len(bare.lstrip(" "))
        if not bare or (block_indent is not None and indent > block_indent):
            continue
        match = _LINE.fullmatch(bare)
        if match is None or "\t" in bare or not (match["key"] or match["dashes"]):
            raise UsageError(f"{option}: line {number}: expected KEY: VALUE")
        for dash in re.finditer("-", match["dashes"]):
            at = indent + dash.start()
            path = [each for each in path if (each.indent, each.is_item) < (at, True)]
            parent = _named(path)
            path.append(_Key(at, True, str(counts[parent])))
            counts[parent] += 1
        if match["key"]:
            at = match.end("dashes")
            path = [each for each in path if each.indent < at]
            path.append(_Key(at, False, match["key"]))
        value = match["value"] or match["item"] or ""
        block_indent = indent if value[:1] in ("|", ">") else None
        if value[:1] in ("{", "[", "&", "*") and value not in ("{}", "[]"):
            raise UsageError(f"{option}: line {number}: write {value} as lines of KEY: VALUE")
        if value and block_indent is None:
            yield _named(path), value.strip("'\" ")


class _Key(NamedTuple):
    indent: int
    is_item: bool
    name: str


def _named(path: Iterable[_Key]) -> str:
    return ".".join(each.name for each in path)
