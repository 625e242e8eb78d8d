"""The policy of a KEDA ScaledObject.  Reads the part of YAML that such a file has: mappings, lists
of mappings, and plain or quoted values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from coordinator_core.whatif.autoscaler import Policy
from jobs.console.errors import UsageError

_LINE = re.compile(r"( *)((?:- +)*)(?:([\w./-]+):(?:\s+(.*))?|(.*))")
_BEHAVIOR = "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown"
_STABILIZATION = f"{_BEHAVIOR}.stabilizationWindowSeconds"
_POD_POLICY = f"{_BEHAVIOR}.policies"
# KEDA's and Kubernetes' defaults.
_DEFAULTS = {
    "spec.triggers.metadata.lagThreshold": 10,
    "spec.minReplicaCount": 0,
    "spec.maxReplicaCount": 100,
    "spec.pollingInterval": 30,
    "spec.cooldownPeriod": 300,
    _STABILIZATION: 300,
}
_LEAST = {"spec.minReplicaCount": 0, "spec.cooldownPeriod": 0, _STABILIZATION: 0}


def policy_of(file: str, group_id: str) -> Policy:
    """Raises UsageError, with the file and what to change."""
    option = f"--autoscaler {file}"
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise UsageError(f"{option}: {reason}; give the YAML file of a ScaledObject") from None
    values = dict(_values(text, option))
    if values.get("kind") != "ScaledObject":
        raise UsageError(f"{option}: kind is not ScaledObject; give KEDA's file")
    if values.get("spec.triggers.type") not in ("kafka", "apache-kafka"):
        raise UsageError(f"{option}: no trigger of type kafka or apache-kafka")
    group = values.get("spec.triggers.metadata.consumerGroup", group_id)
    if group != group_id:
        raise UsageError(f"{option}: consumerGroup {group} is not --group {group_id}")
    threshold, least, most, polling_s, cooldown_s, stabilization_s = (
        _number(values, name, option) for name in _DEFAULTS
    )
    policy = Policy(
        lag_threshold=threshold,
        min_replicas=least,
        max_replicas=most,
        polling_s=polling_s,
        cooldown_s=cooldown_s,
        stabilization_s=stabilization_s,
        step=_step(values, option),
    )
    if policy.min_replicas > policy.max_replicas:
        raise UsageError(f"{option}: minReplicaCount is larger than maxReplicaCount")
    return policy


def _number(values: Mapping[str, str], name: str, option: str) -> int:
    text, least = values.get(name), _LEAST.get(name, 1)
    if text is None:
        return _DEFAULTS[name]
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise UsageError(f"{option}: {name.rpartition('.')[2]} {text}: must be at least {least}")
    return int(text)


def _step(values: Mapping[str, str], option: str) -> int | None:
    """Pods per minute of a policy of type Pods; None without this policy."""
    if values.get(f"{_POD_POLICY}.type") != "Pods":
        return None
    texts = [values.get(f"{_POD_POLICY}.{name}", "") for name in ("value", "periodSeconds")]
    if not all(text.isascii() and text.isdigit() and int(text) for text in texts):
        raise UsageError(f"{option}: policies: value and periodSeconds must be at least 1")
    pods, period_s = map(int, texts)
    return max(round(pods * 60 / period_s), 1)


def _values(text: str, option: str) -> Iterator[tuple[str, str]]:
    """Values by the path of their keys.  The last item of a list counts."""
    keys: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = re.sub(r"(^|\s)#.*$", "", line).rstrip()
        if not bare.strip() or bare == "---":
            continue
        match = _LINE.fullmatch(bare)
        if match is None or "\t" in bare or (match[3] is None and not match[2]):
            raise UsageError(f"{option}: line {number} is not KEY: VALUE")
        indent = len(match[1]) + len(match[2])
        while keys and keys[-1][0] >= indent:
            keys.pop()
        if match[3] is not None:
            keys.append((indent, match[3]))
            if match[4]:
                yield ".".join(key for _, key in keys), match[4].strip("'\" ")
