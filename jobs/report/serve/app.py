"""The addresses of the server, who may ask, and the headers of each answer."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
import sys
from collections.abc import Callable
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jobs.console.errors import UsageError, failure_line
from jobs.console.printing import printable
from jobs.report.page import served_page
from jobs.report.serve.answers import Answers
from jobs.report.serve.endpoints import ENDPOINTS, EXPORT, Endpoint, openapi, parsed

# Limits of concurrent work: a response copies a group's rows to memory, and readers' statements
# share a process.
_ANSWERS_AT_ONCE, _STATEMENTS_AT_ONCE = 4, 1
_LEAST_BYTES = 2000  # minimum size of a response that is worth compressing
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_PORT = re.compile(r":[0-9]+$")
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# Container runtimes and Kubernetes request this path without a token.  Its answer contains nothing
# from the lake.
HEALTH = "/health"
_NO_SCRIPTS = "default-src 'none'; frame-ancestors 'none'"


def application(answers: Answers, *, every_s: float, token: str | None) -> Starlette:
    """Each request must contain ``token``; if it is None, the host of a request must be a loopback
    name.
    """
    page, policy = served_page(every_s)
    limiters = {
        "sql": CapacityLimiter(_STATEMENTS_AT_ONCE),
        "plans": CapacityLimiter(1),
        None: CapacityLimiter(_ANSWERS_AT_ONCE),
    }

    async def show_page(request: Request) -> Response:
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    async def describe(request: Request) -> Response:
        return JSONResponse(openapi())

    async def show_health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    def route(path: str, endpoint: Endpoint, response: Callable[[Any], Response]) -> Route:
        async def handle(request: Request) -> Response:
            limiter = limiters.get(endpoint.name, limiters[None])
            try:
                asked = parsed(endpoint.parameters, request.query_params.multi_items())
                return await to_thread.run_sync(
                    lambda: response(endpoint.answer(answers, asked)), limiter=limiter
                )
            except UsageError as error:
                excerpt = "\n".join(map(printable, error.excerpt.splitlines()))
                return JSONResponse({"error": printable(str(error)), "excerpt": excerpt}, 400)
            except Exception as error:
                print(printable(f"/{endpoint.name}: {failure_line(error)}"), file=sys.stderr)
                return JSONResponse({"error": "the answer failed; the server printed why"}, 500)

        return Route(path, handle, methods=["GET"])

    return Starlette(
        routes=[
            Route("/", show_page, methods=["GET"]),
            Route("/openapi.json", describe, methods=["GET"]),
            Route(HEALTH, show_health, methods=["GET"]),
            *(route(f"/api/{each.name}", each, _json) for each in ENDPOINTS),
            route(f"/{EXPORT.name}", EXPORT, _file),
        ],
        middleware=[
            Middleware(_Guard, token=token),
            Middleware(GZipMiddleware, minimum_size=_LEAST_BYTES, compresslevel=4),
        ],
    )


def _json(value: Any) -> Response:
    return Response(json.dumps(value, separators=(",", ":")), media_type="application/json")


def _file(text: str) -> Response:
    return Response(
        text,
        media_type="text/html; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="rebalances.html"'},
    )


class _Guard:
    """Refuses requests without the token.  Without a token, refuses requests with the name of
    another host: a page of another site could resolve its own name to this address."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", _NO_SCRIPTS)
            await send(message)

        refusal = None if scope["path"] == HEALTH else self._refusal(Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, headers: Headers) -> Response | None:
        if self._token is None:
            if _PORT.sub("", headers.get("host", "")).lower() in _LOOPBACK:
                return None
            return PlainTextResponse("Use the address that regroup serve printed.\n", 421)
        if _knows(headers.get("authorization", ""), self._token):
            return None
        challenge = {"WWW-Authenticate": 'Basic realm="Regroup: the token is the password"'}
        return PlainTextResponse("Give the token.\n", 401, headers=challenge)


def _knows(authorization: str, token: str) -> bool:
    """Returns whether the header has the token: as ``Bearer``, or as the password of any user."""
    scheme, _, value = authorization.partition(" ")
    credential = value.encode()
    if scheme.lower() == "basic":
        try:
            credential = base64.b64decode(value, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(credential, token.encode())
