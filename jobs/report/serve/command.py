"""`regroup serve`: checks the options, and serves until Ctrl-C."""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.console.errors import UsageError
from jobs.console.interrupt import CODE, Terminated, handle_sigterm, interrupt_before
from jobs.console.printing import printable
from jobs.console.secrets import remember
from jobs.lake.service_levels import SloSettings

if TYPE_CHECKING:
    from jobs.report.serve.live import LiveLake

TOKEN = "REGROUP_TOKEN"  # environment variable
_SHORTEST_TOKEN = 16
_MOST_CONNECTIONS = 200


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """``every_s`` is the time between two looks for new commits.  ``token`` is the text that
    readers need.
    ``plan``: ways to deploy a group of a cluster."""

    lake: str
    host: str = "127.0.0.1"
    port: int = 8787
    every_s: float = 60
    token: str | None = None
    certificate: str | None = None
    key: str | None = None
    slo: SloSettings | None = None
    plan: Callable[[str, str], dict[str, Any]] | None = None


def serve(options: ServeOptions) -> None:
    """Serve until Ctrl-C or SIGTERM, which end the process.  Raises UsageError for wrong
    options.
    """
    from jobs.report.serve.live import LiveLake

    _check(options)
    with _listening(options) as listening:
        lake = LiveLake(options.lake, options.slo)
        try:
            _serve(options, lake, listening)
        except BaseException as error:
            interrupt = interrupt_before(error)
            if interrupt is None:
                raise
            lake.close()
            sys.stderr.flush()
            # Threads may still be in DuckDB, which would abort the process when Python ends.
            os._exit(0 if isinstance(interrupt, Terminated) else CODE)


def token_of(file: str | None) -> str | None:
    """The token: the first line of the file, else the token of the environment."""
    if file is None:
        return os.environ.get(TOKEN)
    try:
        return Path(file).read_text(encoding="utf-8").split("\n", 1)[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise UsageError(f"--token-file {file}: {reason}; give a file with the token") from None


def _check(options: ServeOptions) -> None:
    if options.token is not None:
        remember({TOKEN: options.token})
        if len(options.token) < _SHORTEST_TOKEN or not options.token.isascii():
            raise UsageError(
                f"token: give at least {_SHORTEST_TOKEN} ASCII characters,"
                " such as the output of `openssl rand -hex 32`"
            )
    elif not _is_loopback(options.host):
        raise UsageError(
            f"--host {options.host}: others may connect, so a token is needed:"
            f" give --token-file FILE or {TOKEN}"
        )
    if (options.certificate is None) != (options.key is None):
        raise UsageError("give both --certificate and --key, or none")
    if options.certificate is not None and options.key is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                options.certificate, options.key, password=lambda: ""
            )
        except OSError as error:  # ssl.SSLError is one
            raise UsageError(
                f"--certificate {options.certificate}, --key {options.key}:"
                f" {error.strerror or error}; give two PEM files, the key without a password"
            ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(options: ServeOptions) -> socket.socket:
    """A socket that accepts connections, which wait until the server runs."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UsageError(
            f"--host {options.host}: {error.strerror}; give an address of this machine"
        ) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # Until `listen`, SO_REUSEADDR lets another process bind the port, too.
    except OSError as error:
        listening.close()
        raise UsageError(
            f"--port {options.port}: {error.strerror}; give another --port, or 0 for a free one"
        ) from None
    return listening


def _serve(options: ServeOptions, lake: LiveLake, listening: socket.socket) -> None:
    import uvicorn

    from jobs.report.serve.answers import Answers
    from jobs.report.serve.app import application
    from jobs.report.serve.memory import share_areas
    from jobs.report.serve.slow_clients import ImpatientProtocol

    share_areas()
    threading.Thread(target=_prepare, args=(lake,), daemon=True).start()
    threading.Thread(target=lake.follow, args=(options.every_s,), daemon=True).start()
    app = application(Answers(lake, options.plan), every_s=options.every_s, token=options.token)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=ImpatientProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=2,
            ssl_certfile=options.certificate,
            ssl_keyfile=options.key,
        )
    )
    _print_address(options, listening.getsockname()[1])
    handle_sigterm()
    server.run(sockets=[listening])


def _prepare(lake: LiveLake) -> None:
    """Read the first cluster before a reader asks for it; a reader gets any error."""
    with suppress(Exception):
        lake.version.summary(lake.version.clusters[0])


def _print_address(options: ServeOptions, port: int) -> None:
    scheme = "https" if options.certificate else "http"
    host = f"[{options.host}]" if ":" in options.host else options.host
    access = "read-only" if options.token is None else "read-only, with the token as password"
    lines = [f"{scheme}://{host}:{port}/ shows {options.lake} ({access}); Ctrl-C ends"]
    if options.token is not None and not options.certificate and not _is_loopback(options.host):
        lines.append(
            "without --certificate and --key, the token crosses the network unencrypted:"
            " use a proxy with TLS"
        )
    print(*map(printable, lines), sep="\n", file=sys.stderr, flush=True)
