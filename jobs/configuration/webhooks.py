"""Receivers of alerts: [alerts.webhooks.NAME] of the configuration."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote, urlsplit

from jobs.console.errors import UsageError
from jobs.console.similar_names import meant

ALERTS = (
    "storm",
    "stuck",
    "unowned",
    "no_members",
    "flapping",
    "moved_nothing",
    "over_budget",
    "stuck_partition",
    "poison_pill",
    "finding",
    "slo",
)
FORMATS = ("json", "slack", "teams", "pagerduty")
PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """A receiver.  ``url`` or the environment variable ``url_variable`` has its address;
    ``key_variable`` names the variable with PagerDuty's routing key.  ``groups`` are patterns of
    group ids; ``alerts`` are names of checks; ``resolved`` says whether the end of an alert is
    sent, too;
    ``digest`` says whether `regroup digest --notify` sends to it.
    """

    name: str
    format: str
    url: str | None = None
    url_variable: str | None = None
    key_variable: str | None = None
    groups: tuple[str, ...] = ("*",)
    alerts: tuple[str, ...] = ALERTS
    resolved: bool = True
    digest: bool = False

    def takes(self, alert: str, group_id: str) -> bool:
        return alert in self.alerts and any(fnmatchcase(group_id, each) for each in self.groups)

    def require_variables(self) -> None:
        """Raises UsageError if an environment variable is not set, or the address is no HTTP
        URL.
        """
        self.address()
        self.key()

    def address(self) -> str:
        """No message may contain the address, because many receivers' addresses are secrets."""
        url = _variable(self, self.url_variable) if self.url_variable else self.url or PAGERDUTY
        if not _is_http(url):
            raise UsageError(
                f"{_where(self.name)}: the address must be an http or https URL in ASCII, without"
                " user and spaces"
            )
        return url

    def key(self) -> str:
        """PagerDuty's routing key; empty for other formats."""
        return _variable(self, self.key_variable) if self.key_variable else ""


def _is_http(url: str) -> bool:
    """Returns whether urllib can ask it: what it cannot, it quotes in its errors."""
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")
        is_whole = bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        return False
    host = unquote(parts.netloc)  # as urllib reads it
    is_plain = all(
        each.isascii() and each.isprintable() and " " not in each for each in (url, host)
    )
    return parts.scheme in ("http", "https") and is_whole and is_plain


def _variable(webhook: Webhook, name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise UsageError(f"{_where(webhook.name)}: set the environment variable {name}")
    return value


def _where(name: str) -> str:
    return f"[alerts.webhooks.{name}]"


def read_webhooks(tables: Any, where: str) -> tuple[Webhook, ...]:
    """Read [alerts.webhooks.NAME] of a TOML file; ``where`` is the beginning of error messages."""
    if not isinstance(tables, dict) or not all(isinstance(own, dict) for own in tables.values()):
        raise UsageError(f"{where} [alerts.webhooks.NAME] must be a table")
    return tuple(_webhook(name, own, f"{where} {_where(name)}") for name, own in tables.items())


def _webhook(name: str, table: dict[str, Any], where: str) -> Webhook:
    for setting, value in table.items():
        if setting not in _TYPES:
            raise UsageError(f"{where} unknown setting {setting!r}; {meant(setting, _TYPES)}")
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
        raise UsageError(
            f"{where} key_variable is required for format pagerduty, and only allowed for it"
        )
    if table.get("digest") and format == "pagerduty":
        raise UsageError(f"{where} digest is not possible for format pagerduty")
    unknown = set(table.get("alerts", ())) - set(ALERTS)
    if unknown:
        checks = ", ".join(ALERTS)
        raise UsageError(f"{where} alerts has {sorted(unknown)[0]!r}; the checks are {checks}")
    lists = {name: tuple(value) for name, value in table.items() if isinstance(value, list)}
    return Webhook(name=name, **table | lists)


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
    "digest": lambda value: isinstance(value, bool),
}
_MEANINGS = {
    "format": ", ".join(FORMATS),
    "url": "the receiver's address",
    "url_variable": "the environment variable with the address",
    "key_variable": "the environment variable with the routing key",
    "groups": 'a list of patterns such as ["billing-*"]',
    "alerts": 'a list of checks such as ["storm"]',
    "resolved": "true or false",
    "digest": "true or false",
}
