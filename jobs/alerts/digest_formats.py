"""A digest as text, Markdown, JSON, HTML, a mail, and messages for Slack and Teams.

Names of groups come from any client: no format lets them become markup, links or mentions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from email.message import EmailMessage
from html import escape
from typing import Any, NamedTuple

from coordinator_core.figures import definitions
from jobs.alerts.formats import DigestFormat
from jobs.alerts.webhooks import (
    no_markdown,
    no_mentions,
    slack_section,
    slack_text,
    teams_message,
    text_block,
)
from jobs.console.printing import json_text, jsonable, printable

_SLACK_HEADER_LIMIT = 150  # characters
_TEAMS_LIMIT = 900  # maximum characters of an entry, because a card may have 28 KB
_STYLE = "font-family:sans-serif;font-size:14px;line-height:1.4;color:#222;max-width:46em"


class DigestEntry(NamedTuple):
    head: str
    text: str


class DigestSection(NamedTuple):
    """``left_out`` has a sentence about further entries; empty for none."""

    title: str
    entries: list[DigestEntry]
    left_out: str


class DigestDocument(NamedTuple):
    cluster_id: str
    start: datetime
    now: datetime
    headline: str
    sections: list[DigestSection]

    @property
    def title(self) -> str:
        return printable(
            f"{self.cluster_id}, {self.start:%Y-%m-%d %H:%M} to {self.now:%Y-%m-%d %H:%M} UTC"
        )

    @property
    def lead(self) -> str:
        """The headline, and the definition of a unit that the digest uses."""
        lines = [line for section in self.sections for line in _lines(section)]
        return "; ".join([printable(self.headline), *definitions("\n".join(lines))])


def as_text(digests: Sequence[DigestDocument]) -> str:
    lines: list[str] = []
    for digest in digests:
        lines += [digest.title, digest.lead, ""]
        for section in digest.sections:
            lines.append(section.title)
            lines += [f"  {line}" for line in _lines(section)]
            lines.append("")
    return "\n".join(lines)


def as_markdown(digests: Sequence[DigestDocument]) -> str:
    lines: list[str] = []
    for digest in digests:
        lines += [f"## {no_markdown(digest.title)}", "", no_markdown(digest.lead), ""]
        for section in digest.sections:
            lines += [f"### {section.title}", ""]
            lines += [
                f"- **{no_markdown(head)}**: {no_markdown(text)}" for head, text in section.entries
            ]
            lines += [f"- {no_markdown(section.left_out)}"] if section.left_out else []
            lines.append("")
    return "\n".join(lines)


def slack_message(digests: Sequence[DigestDocument]) -> dict[str, Any]:
    """A message for an incoming webhook of Slack, or for chat.postMessage."""
    blocks: list[dict[str, Any]] = []
    for digest in digests:
        title = digest.title[:_SLACK_HEADER_LIMIT]
        blocks.append({"type": "header", "text": slack_text(title)})
        blocks.append(slack_section(digest.lead))
        for section in digest.sections:
            lines = [section.title, *(f"• {line}" for line in _lines(section))]
            blocks.append(slack_section("\n".join(lines)))
    summary = "; ".join(printable(f"{each.title}: {each.headline}") for each in digests)
    return {"text": no_mentions(summary), "blocks": blocks}


def teams_digest(digests: Sequence[DigestDocument]) -> dict[str, Any]:
    """An Adaptive Card for a workflow of Teams."""
    body: list[dict[str, Any]] = []
    for digest in digests:
        body.append(text_block(digest.title, size="large", weight="bolder"))
        body.append(text_block(digest.lead))
        for section in digest.sections:
            body.append(text_block(section.title, weight="bolder", separator=True))
            body += [text_block(line[:_TEAMS_LIMIT]) for line in _lines(section)]
    return teams_message(body)


def as_html(digests: Sequence[DigestDocument]) -> str:
    """A document whose styles are in its elements, as mail programs need them."""
    parts = [f'<!DOCTYPE html>\n<html lang="en"><body style="{_STYLE}">']
    for digest in digests:
        parts += [f"<h2>{escape(digest.title)}</h2>", f"<p>{_escaped(digest.lead)}</p>"]
        for section in digest.sections:
            parts.append(f"<h3>{section.title}</h3>\n<ul>")
            parts += [
                f"<li><b>{_escaped(head)}</b>: {_escaped(text)}</li>"
                for head, text in section.entries
            ]
            parts += [f"<li>{_escaped(section.left_out)}</li>"] if section.left_out else []
            parts.append("</ul>")
    return "\n".join([*parts, "</body></html>", ""])


def as_mail(digests: Sequence[DigestDocument]) -> str:
    """A message for `sendmail ADDRESS`: subject, text and HTML."""
    mail = EmailMessage()
    mail["Subject"] = f"Regroup: {'; '.join(digest.title for digest in digests)}"
    mail.set_content(as_text(digests))
    mail.add_alternative(as_html(digests), subtype="html")
    return mail.as_string()


def as_json(digests: Sequence[DigestDocument]) -> list[dict[str, Any]]:
    """A list with one object per cluster."""
    return [
        {
            **jsonable(digest._asdict()),
            "start": f"{digest.start.isoformat()}Z",
            "now": f"{digest.now.isoformat()}Z",
            "sections": [
                {**section._asdict(), "entries": [entry._asdict() for entry in section.entries]}
                for section in digest.sections
            ],
        }
        for digest in digests
    ]


def _lines(section: DigestSection) -> list[str]:
    lines = [printable(f"{head}: {text}") for head, text in section.entries]
    return [*lines, *([printable(section.left_out)] if section.left_out else [])]


def _escaped(text: str) -> str:
    return escape(printable(text))


def _json(value: Any) -> str:
    return f"{json_text(jsonable(value))}\n"


BODIES: dict[DigestFormat, Callable[[Sequence[DigestDocument]], str]] = {
    DigestFormat.TEXT: as_text,
    DigestFormat.MARKDOWN: as_markdown,
    DigestFormat.SLACK: lambda digests: _json(slack_message(digests)),
    DigestFormat.TEAMS: lambda digests: _json(teams_digest(digests)),
    DigestFormat.HTML: as_html,
    DigestFormat.MAIL: as_mail,
    DigestFormat.JSON: lambda digests: _json(as_json(digests)),
}
REQUESTS: dict[str, Callable[[Sequence[DigestDocument]], dict[str, Any]]] = {
    "slack": slack_message,
    "teams": teams_digest,
    "json": lambda digests: {"status": "digest", "digests": as_json(digests)},
}
