"""Webhooks: who gets which alerts, and the request that each kind of receiver takes.

Formats of the requests: Slack's incoming webhooks; Microsoft Teams' workflow "when a Teams webhook
request is received" (Adaptive Card 1.4); PagerDuty's Events API v2; and plain JSON.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from jobs.alerts.checks import CHECKS, Alert
from jobs.console.errors import UsageError
from jobs.console.printing import printable

RAISED, RESOLVED = "raised", "resolved"
_PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"
_PAGERDUTY_SUMMARY = 1024  # characters; the API refuses longer ones
_CHECK_NAMES = tuple(check.name for check in CHECKS)


@dataclass(frozen=True)
class Webhook:
    """A receiver.  ``url`` or the environment variable ``url_variable`` has its address;
    ``key_variable`` names the variable with PagerDuty's routing key.  ``groups``: patterns of group
    ids; ``alerts``: names of checks; ``resolved``: whether the end of an alert is sent, too."""

    name: str
    format: str
    url: str | None = None
    url_variable: str | None = None
    key_variable: str | None = None
    groups: tuple[str, ...] = ("*",)
    alerts: tuple[str, ...] = _CHECK_NAMES
    resolved: bool = True

    def takes(self, alert: Alert) -> bool:
        of_group = any(fnmatchcase(alert.group_id, pattern) for pattern in self.groups)
        return of_group and alert.alert in self.alerts

    def require_variables(self) -> None:
        """UsageError if an environment variable is not set, or the address is no HTTP URL."""
        self.address()
        self._key()

    def address(self) -> str:
        """No message may have it: many receivers' addresses are secrets."""
        url = _variable(self, self.url_variable) if self.url_variable else self.url or _PAGERDUTY
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{_where(self.name)}: the address is not an http or https URL")
        return url

    def body(self, status: str, alert: Mapping[str, Any]) -> dict[str, Any]:
        """The request's JSON.  ``alert``: `as_json`."""
        return FORMATS[self.format](status, alert, self._key())

    def _key(self) -> str:
        return _variable(self, self.key_variable) if self.key_variable else ""


def _variable(webhook: Webhook, name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise UsageError(f"{_where(webhook.name)}: set the environment variable {name}")
    return value


def _where(name: str) -> str:
    return f"[alerts.webhooks.{name}]"


# -- bodies ----------------------------------------------------------------------------------------


def as_json(alert: Alert) -> dict[str, Any]:
    """Times in UTC, ISO 8601."""
    return {
        name: f"{value.isoformat()}Z" if isinstance(value, datetime) else value
        for name, value in alert._asdict().items()
    }


def key_of(alert: Mapping[str, Any]) -> str:
    """Equal for the same problem in later runs."""
    names = ("alert", "cluster_id", "group_id", "process", "first_time")
    return "/".join(str(alert[name] or "") for name in names)


def _plain(status: str, alert: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {"status": status, "key": key_of(alert), **alert}


def _slack(status: str, alert: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Slack takes ``&``, ``<`` and ``>`` as markup: names of groups must not become links or
    mentions."""
    text = _sentence(status, alert)
    for sign, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, escaped)
    block = {"type": "section", "text": {"type": "plain_text", "text": text[:3000], "emoji": False}}
    return {"text": text, "blocks": [block]}


def _teams(status: str, alert: Mapping[str, Any], key: str) -> dict[str, Any]:
    facts = [
        {"title": name, "value": _no_markdown(str(alert[name]))}
        for name in ("cluster_id", "group_id", "process", "first_time", "last_time", "value")
        if alert[name] is not None
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            {
                "type": "TextBlock",
                "wrap": True,
                "weight": "bolder",
                "text": _no_markdown(_sentence(status, alert)),
            },
            {"type": "FactSet", "facts": facts},
        ],
    }
    content_type = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": content_type, "content": card}]}


def _pagerduty(status: str, alert: Mapping[str, Any], key: str) -> dict[str, Any]:
    event = {"routing_key": key, "dedup_key": key_of(alert)[-255:]}
    if status == RESOLVED:
        return event | {"event_action": "resolve"}
    payload = {
        "summary": _sentence(status, alert)[:_PAGERDUTY_SUMMARY],
        "source": printable(alert["cluster_id"]),
        "severity": "warning",
        "timestamp": alert["last_time"],
        "component": printable(alert["group_id"]),
        "class": alert["alert"],
        "custom_details": dict(alert),
    }
    return event | {"event_action": "trigger", "client": "Regroup", "payload": payload}


def _sentence(status: str, alert: Mapping[str, Any]) -> str:
    process = f" ({alert['process']})" if alert["process"] else ""
    subject = f"{alert['alert']} {alert['group_id']}{process} in {alert['cluster_id']}"
    if status == RESOLVED:
        return printable(f"{subject}: no longer raised")
    return printable(f"{subject}: {alert['message']}")


def _no_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~<>])", r"\\\1", printable(text))


FORMATS: dict[str, Callable[[str, Mapping[str, Any], str], dict[str, Any]]] = {
    "json": _plain,
    "slack": _slack,
    "teams": _teams,
    "pagerduty": _pagerduty,
}


# -- settings --------------------------------------------------------------------------------------


def read_webhooks(tables: Any, where: str) -> tuple[Webhook, ...]:
    """Read [alerts.webhooks.NAME] of a TOML file; ``where`` begins error messages."""
    if not isinstance(tables, dict) or not all(isinstance(own, dict) for own in tables.values()):
        raise UsageError(f"{where} [alerts.webhooks.NAME] must be a table")
    return tuple(_webhook(name, own, f"{where} {_where(name)}") for name, own in tables.items())


def _webhook(name: str, table: dict[str, Any], where: str) -> Webhook:
    for setting, value in table.items():
        if setting not in _TYPES:
            raise UsageError(f"{where} unknown setting {setting!r}; use {', '.join(_TYPES)}")
        if not _TYPES[setting](value):
            raise UsageError(
                f"{where} {setting} has a wrong type or is empty: {_MEANINGS[setting]}"
            )
    format = table.get("format")
    if format not in FORMATS:
        raise UsageError(f"{where} format must be {', '.join(FORMATS)}, not {format!r}")
    if ("url" in table) + ("url_variable" in table) != 1 and format != "pagerduty":
        raise UsageError(f"{where} needs url or url_variable")
    if (format == "pagerduty") != ("key_variable" in table):
        raise UsageError(f"{where} key_variable is required for pagerduty, and only there")
    unknown = set(table.get("alerts", ())) - set(_CHECK_NAMES)
    if unknown:
        checks = ", ".join(_CHECK_NAMES)
        raise UsageError(f"{where} alerts has {sorted(unknown)[0]!r}; the checks are {checks}")
    lists = {name: tuple(value) for name, value in table.items() if isinstance(value, list)}
    return Webhook(name, **table | lists)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "format": _is_text,
    "url": _is_text,
    "url_variable": _is_text,
    "key_variable": _is_text,
    "groups": _is_list,
    "alerts": _is_list,
    "resolved": lambda value: isinstance(value, bool),
}
_MEANINGS = {
    "format": ", ".join(FORMATS),
    "url": "the receiver's address",
    "url_variable": "the environment variable with the address",
    "key_variable": "the environment variable with the routing key",
    "groups": 'a list of patterns such as ["billing-*"]',
    "alerts": 'a list of checks such as ["storm"]',
    "resolved": "true or false",
}
