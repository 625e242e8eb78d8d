"""Closes connections whose client sends no complete request, or reads no answer, in time."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10
READ_S = 30


class ImpatientProtocol(H11Protocol):
    """Uvicorn limits only the time between two requests."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start(REQUEST_S)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._limit is None:
            self._start(REQUEST_S)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop()
        self._start(READ_S)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _start(self, seconds: float) -> None:
        self._limit = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
