"""The outbox: messages for webhooks, kept in a file until their receivers have accepted them.

A message is stored before it is sent, and marked as sent after the receiver's answer.  No message
is lost when a receiver or this process fails, but a message may be sent twice, with the same key.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.alerts.checks import Alert
from jobs.alerts.webhooks import RAISED, RESOLVED, as_json, key_of
from jobs.configuration.webhooks import Webhook
from jobs.console.errors import UsageError

# Messages of problems that ended this many seconds ago are forgotten.
_KEPT_S = 90 * 86_400
_TABLE = """
    CREATE TABLE IF NOT EXISTS messages (
        webhook TEXT NOT NULL,
        key TEXT NOT NULL,       -- of the alert or digest
        status TEXT NOT NULL,    -- raised, resolved, digest
        alert TEXT NOT NULL,     -- JSON
        queued_s REAL NOT NULL,  -- since the epoch
        sent_s REAL,
        attempts INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (webhook, key, status)
    )"""


@dataclass(frozen=True)
class OutboxMessage:
    webhook: str
    key: str
    status: str
    alert: Mapping[str, Any]


class Outbox:
    """Only one process at a time has the outbox open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute(_TABLE)

    def queue(
        self, webhook: Webhook, alerts: Iterable[Alert], clusters: Iterable[str], now_s: float
    ) -> None:
        """Add the alerts that are new to the webhook, and the ends of alerts of these clusters that
        are no longer raised.
        """
        taken = (each for each in alerts if webhook.takes(each.alert, each.group_id))
        current = {key_of(each): each for each in map(as_json, taken)}
        for key, alert in current.items():
            self.add(webhook, key, RAISED, alert, now_s)
        if webhook.resolved:
            for key, alert in self._raised(webhook.name):
                if key not in current and alert["cluster_id"] in set(clusters):
                    self.add(webhook, key, RESOLVED, alert, now_s)

    def waiting(self, webhook: str) -> list[OutboxMessage]:
        """Messages that are not sent yet, in the order in which they were added."""
        rows = self._connection.execute(
            "SELECT webhook, key, status, alert FROM messages"
            " WHERE webhook = ? AND sent_s IS NULL ORDER BY rowid",
            (webhook,),
        )
        return [
            OutboxMessage(name, key, status, json.loads(alert)) for name, key, status, alert in rows
        ]

    def attempted(self, message: OutboxMessage, sent_s: float | None) -> None:
        """``sent_s`` is the time at which the receiver accepted it, or None if it did not."""
        with self._connection:
            self._connection.execute(
                "UPDATE messages SET attempts = attempts + 1, sent_s = ?"
                " WHERE webhook = ? AND key = ? AND status = ?",
                (sent_s, message.webhook, message.key, message.status),
            )

    def forget_before(self, now_s: float) -> None:
        with self._connection:
            self._connection.execute("DELETE FROM messages WHERE sent_s < ?", (now_s - _KEPT_S,))

    def add(
        self, webhook: Webhook, key: str, status: str, alert: Mapping[str, Any], now_s: float
    ) -> None:
        """Add a message, unless the webhook has one with this key and status."""
        with self._connection:
            self._connection.execute(
                "INSERT OR IGNORE INTO messages (webhook, key, status, alert, queued_s)"
                " VALUES (?, ?, ?, ?, ?)",
                (webhook.name, key, status, json.dumps(alert), now_s),
            )

    def _raised(self, webhook: str) -> list[tuple[str, dict[str, Any]]]:
        rows = self._connection.execute(
            "SELECT key, alert FROM messages WHERE webhook = ? AND status = ? ORDER BY rowid",
            (webhook, RAISED),
        )
        return [(key, json.loads(alert)) for key, alert in rows]


@contextmanager
def open_outbox(file: Path) -> Iterator[Outbox]:
    """Raises UsageError if the file cannot be written or is no outbox.  Waits for other
    processes.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file.with_suffix(".lock"), "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with closing(sqlite3.connect(file)) as connection:
                yield Outbox(connection)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"[alerts] outbox {file}: {reason}; give a file to write") from None
