"""The conditions that the application's thread yields while it waits, and the errors it raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from coordinator_core.protocol.errors import Errors

EXCEPTIONS = {
    Errors.NETWORK_EXCEPTION: "DisconnectException",
    Errors.REQUEST_TIMED_OUT: "TimeoutException",
    Errors.UNKNOWN_SERVER_ERROR: "KafkaException",
}


class Wait(NamedTuple):
    """Wait until the condition holds or the deadline passes."""

    until: Callable[[], bool]
    deadline_ms: int | None = None


Thread = Iterator[Wait]


class Thrown(Exception):
    """Ends the current poll with an error for the application."""

    def __init__(self, error: Errors | None, text: str, is_fatal: bool = False) -> None:
        super().__init__(text)
        self.error, self.text, self.is_fatal = error, text, is_fatal


def exception_name(error: Errors) -> str:
    """The name of the exception class that the Java client throws for an error."""
    words = (word.capitalize() for word in error.name.split("_"))
    return EXCEPTIONS.get(error, "".join(words) + "Exception")


def always() -> bool:
    return True


def never() -> bool:
    return False
