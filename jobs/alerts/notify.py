"""Send alerts to webhooks: what is new since the last time, and what could not be sent then.

A receiver that answers with an error that may pass (no connection, 408, 429, 5xx) is asked again a
few times, then at the next call; its later messages wait, to keep their order.  A message that the
receiver refuses is also tried again at each call, but does not delay other messages.
"""

from __future__ import annotations

import json
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from threading import Timer
from typing import Any

from jobs.alerts.alerting import AlertWindow
from jobs.alerts.checks import Alert
from jobs.alerts.digest_formats import REQUESTS, DigestDocument
from jobs.alerts.outbox import Outbox, OutboxMessage, open_outbox
from jobs.alerts.webhooks import DIGEST, request_body
from jobs.configuration.alert_settings import AlertSettings
from jobs.configuration.webhooks import Webhook
from jobs.console.errors import UsageError

_TIMEOUT_S = 10  # of one read
# limit from the connection to the response, because a receiver may send one byte per read
_LIMIT_S = 20.0
_CALL_LIMIT_S = 120.0  # after this time, a call starts no message to this receiver
_PAUSES_S = (1.0, 3.0)  # seconds between the attempts of one call
_LONGEST_PAUSE_S = 30.0  # maximum of the seconds that a receiver asks for (Retry-After)
_MAY_PASS = (408, 425, 429)  # status codes that may pass, besides all codes from 500 on
_OUTBOX = "_alerts/outbox.sqlite"  # path of the outbox in a lake on a local disk


@dataclass(frozen=True)
class Delivery:
    """The messages that one webhook received.

    ``error`` says why messages wait, or is None if none waits.
    """

    webhook: str
    sent: int
    waiting: int
    error: str | None

    @property
    def line(self) -> str:
        waiting = f", {self.waiting} waiting: {self.error}" if self.waiting else ""
        return f"webhook {self.webhook}: {self.sent} sent{waiting}"


def require_webhooks(settings: AlertSettings, lake: str) -> Path:
    """The file of the outbox.  Raises UsageError if no webhook is configured, or one is
    incomplete.
    """
    if not settings.webhooks:
        raise UsageError("--notify: no webhook is configured; add [alerts.webhooks.NAME] to --conf")
    for webhook in settings.webhooks:
        webhook.require_variables()
    if settings.outbox is not None:
        return Path(settings.outbox)
    if "://" in lake:
        raise UsageError("--notify: the lake is not on a local disk; set [alerts] outbox to a file")
    return Path(lake, _OUTBOX)


def notify(
    settings: AlertSettings,
    lake: str,
    alerts: Sequence[Alert],
    windows: Sequence[AlertWindow],
    wait: Callable[[float], None] = time.sleep,
) -> list[Delivery]:
    """Store the new messages, send all that wait; one Delivery per webhook.  ``windows`` are the
    clusters that were checked; alerts of all other clusters stay raised.
    """
    clusters = [window.cluster_id for window in windows]
    with open_outbox(require_webhooks(settings, lake)) as outbox:
        for webhook in settings.webhooks:
            outbox.queue(webhook, alerts, clusters, time.time())
        deliveries = [_deliver(outbox, webhook, wait) for webhook in settings.webhooks]
        outbox.forget_before(time.time())
    return deliveries


def send_digests(
    settings: AlertSettings,
    lake: str,
    digests_for: Callable[[Webhook], Sequence[DigestDocument]],
    now_s: float,
    wait: Callable[[float], None] = time.sleep,
) -> list[Delivery]:
    """Send a digest to each webhook with ``digest = true``, once per time span of the lake."""
    webhooks = tuple(each for each in settings.webhooks if each.digest)
    if not webhooks:
        raise UsageError("--notify: no webhook takes digests; set digest = true in one of --conf")
    with open_outbox(require_webhooks(replace(settings, webhooks=webhooks), lake)) as outbox:
        for webhook in webhooks:
            digests = digests_for(webhook)
            key = "/".join(f"{each.cluster_id}/{each.start}/{each.now}" for each in digests)
            outbox.add(webhook, key, DIGEST, REQUESTS[webhook.format](digests), now_s)
        return [_deliver(outbox, webhook, wait) for webhook in webhooks]


def _deliver(outbox: Outbox, webhook: Webhook, wait: Callable[[float], None]) -> Delivery:
    sent = 0
    error: str | None = None
    messages = outbox.waiting(webhook.name)
    ends_s = time.monotonic() + _CALL_LIMIT_S
    for message in messages:
        if time.monotonic() > ends_s:
            error = error or f"the receiver took more than {_CALL_LIMIT_S:.0f} s"
            break
        failure = _sent_in_a_few_attempts(webhook, message, wait)
        outbox.attempted(message, time.time() if failure is None else None)
        if failure is None:
            sent += 1
            continue
        error = error or failure.text
        if failure.may_pass:
            break
    return Delivery(webhook.name, sent, len(messages) - sent, error)


@dataclass(frozen=True)
class _Failure:
    """``pause_s`` says for how long the receiver asks to wait."""

    text: str
    may_pass: bool
    pause_s: float = 0.0


def _sent_in_a_few_attempts(
    webhook: Webhook, message: OutboxMessage, wait: Callable[[float], None]
) -> _Failure | None:
    for pause_s in _PAUSES_S:
        failure = _send(webhook, message)
        if failure is None or not failure.may_pass or failure.pause_s > _LONGEST_PAUSE_S:
            return failure
        wait(max(pause_s, failure.pause_s))
    return _send(webhook, message)


def _send(webhook: Webhook, message: OutboxMessage) -> _Failure | None:
    """Returns the reason for a failure, or None if the receiver accepted the message."""
    body = json.dumps(request_body(webhook, message.status, message.alert)).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "regroup"}
    request = urllib.request.Request(webhook.address(), body, headers, method="POST")
    try:
        with _OPENER.open(request, timeout=_TIMEOUT_S) as answer:
            return _refused(answer.status, "") if answer.status >= 300 else None
    except urllib.error.HTTPError as error:
        with error:
            return _refused(error.code, error.headers.get("Retry-After", ""))
    except (OSError, HTTPException) as error:
        return _Failure(_reason(error), may_pass=True)


def _reason(error: OSError | HTTPException) -> str:
    """Without parts of the address: an HTTPException quotes bytes of the response, in which a
    receiver may repeat the request, and an error about a certificate may quote the host."""
    reason = getattr(error, "reason", None) or error
    if isinstance(reason, ssl.SSLCertVerificationError):
        text = reason.verify_message.split(",")[0]
    else:
        text = str(reason) if isinstance(error, OSError) else "the response is not HTTP"
    return f"{type(reason).__name__}: {text}"


def _refused(status: int, retry_after: str) -> _Failure:
    pause_s = float(retry_after) if retry_after.isdecimal() else 0.0
    return _Failure(f"HTTP {status}", status in _MAY_PASS or status >= 500, pause_s)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive without its body."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Limited(HTTPConnection):
    """Ends a connection whose receiver has not answered within the limit."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._create_connection = self._connected
        self._peer: socket.socket | None = None
        self._is_over = False
        self._timer = Timer(_LIMIT_S, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _connected(self, *arguments: Any, **options: Any) -> socket.socket:
        connection = socket.create_connection(*arguments, **options)
        # A second handle: TLS takes the first one over while it reads the receiver's handshake.
        self._peer = connection.dup()
        if self._is_over:
            self._end()
        return connection

    def getresponse(self) -> HTTPResponse:
        try:
            return super().getresponse()
        finally:
            self._release()

    def close(self) -> None:
        self._release()
        super().close()

    def _release(self) -> None:
        self._timer.cancel()
        if self._peer is not None:
            self._peer.close()

    def _end(self) -> None:
        self._is_over = True
        if self._peer is not None:
            with suppress(OSError):
                self._peer.shutdown(socket.SHUT_RDWR)


class _LimitedTLS(_Limited, HTTPSConnection):
    """As `_Limited`, with a certificate."""


class _Http(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_Limited, request)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_LimitedTLS, request, context=ssl.create_default_context())


_OPENER = urllib.request.build_opener(_NoRedirect, _Http, _Https)
