"""The formats of `regroup digest`.  Without imports of the project: every command imports them."""

from __future__ import annotations

from enum import StrEnum


class DigestFormat(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"
    SLACK = "slack"
    TEAMS = "teams"
    HTML = "html"
    MAIL = "mail"
    JSON = "json"
