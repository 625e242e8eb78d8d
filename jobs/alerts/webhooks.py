"""The request that each kind of webhook accepts.

Formats of the requests: Slack's incoming webhooks; Microsoft Teams' workflow "when a Teams webhook
request is received" (Adaptive Card 1.4); PagerDuty's Events API v2; and plain JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from jobs.alerts.checks import Alert
from jobs.configuration.webhooks import Webhook
from jobs.console.printing import printable

RAISED, RESOLVED = "raised", "resolved"
DIGEST = "digest"
_SLACK_LIMIT = 3000  # maximum characters of a section
_PAGERDUTY_SUMMARY = 1024  # maximum characters of a summary; the API refuses longer summaries


def request_body(webhook: Webhook, status: str, alert: Mapping[str, Any]) -> dict[str, Any]:
    """The request's JSON.  ``alert``: `as_json`; for status DIGEST, the request itself."""
    if status == DIGEST:
        return dict(alert)
    return _BODIES[webhook.format](status, alert, webhook.key())


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
    sentence = _sentence(status, alert)
    return {"text": no_mentions(sentence), "blocks": [slack_section(sentence)]}


def slack_section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": slack_text(no_mentions(text)[:_SLACK_LIMIT])}


def slack_text(text: str) -> dict[str, Any]:
    """Plain text, in which Slack finds no links."""
    return {"type": "plain_text", "text": text, "emoji": False}


def no_mentions(text: str) -> str:
    """Slack interprets ``&``, ``<`` and ``>`` as markup, but names of groups must not become links
    or mentions.
    """
    for sign, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, escaped)
    return text


def _teams(status: str, alert: Mapping[str, Any], key: str) -> dict[str, Any]:
    facts = [
        {"title": name, "value": no_markdown(str(alert[name]))}
        for name in ("cluster_id", "group_id", "process", "first_time", "last_time", "value")
        if alert[name] is not None
    ]
    sentence = text_block(_sentence(status, alert), weight="bolder")
    return teams_message([sentence, {"type": "FactSet", "facts": facts}])


def text_block(text: str, **style: Any) -> dict[str, Any]:
    """An element of an Adaptive Card."""
    return {"type": "TextBlock", "wrap": True, "text": no_markdown(text), **style}


def teams_message(body: list[dict[str, Any]]) -> dict[str, Any]:
    """A message with an Adaptive Card of these elements."""
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
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


def no_markdown(text: str) -> str:
    """The text on one line, with all markup of Markdown escaped."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~<>])", r"\\\1", printable(text))


_BODIES: dict[str, Callable[[str, Mapping[str, Any], str], dict[str, Any]]] = {
    "json": _plain,
    "slack": _slack,
    "teams": _teams,
    "pagerduty": _pagerduty,
}
