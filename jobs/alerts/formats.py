"""The formats of `regroup digest`.

This module imports nothing of the project, because every command imports it.
"""

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
