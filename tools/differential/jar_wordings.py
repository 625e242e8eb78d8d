"""Compare the wordings of schemas/log_lines with the texts that the coordinator's jars log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import schemas.log_lines as data
from coordinator_core.log_lines import holds_in
from tools.differential.class_files import LogCall, classes_of

JARS = ("kafka-group-coordinator", "kafka-coordinator-common")
_PLACEHOLDER = re.compile(r"\{\w*\}")


def wording_differences(version: str, jars: Iterable[Path]) -> list[str]:
    """``not read``: texts that the jars log and no wording of the version reads; ``not logged``:
    wordings and reasons of the version whose texts the jars lack.
    """
    classes = [each for jar in jars for each in classes_of(jar)]
    logged = {call.stripped() for each in classes for call in each.log_calls()}
    constants = "\n".join(text for each in classes for text in each.strings)
    present = {each.simple_name for each in classes}
    wordings = {
        LogCall(each["logger"].partition("$")[0], each["level"], _with_places(each["text"]))
        for each in data.wordings("java")
        if holds_in(each["versions"], version)
    }
    wordings = {each for each in wordings if each.logger in present}
    computed = [call for call in logged - wordings if call.logger is not None]
    is_logged = {
        each
        for each in wordings
        if each in logged
        or LogCall(None, each.level, each.text) in logged
        or any(_reads(each, call) for call in logged)
        or any(_completes(each, call, constants) for call in computed)
    }
    not_read = {
        call
        for call in logged
        if not any(_reads(each, call) or _completes(each, call, constants) for each in is_logged)
    }
    reasons = {each["text"] for each in data.reasons("java") if holds_in(each["versions"], version)}
    return sorted(
        [f"not read: {_shown(each)}" for each in not_read]
        + [f"not logged: {_shown(each)}" for each in wordings - is_logged]
        + [f"not logged: reason {each}" for each in reasons if not _has_words(each, constants)]
    )


def _with_places(text: str) -> str:
    return _PLACEHOLDER.sub("{}", text)


def _shown(call: LogCall) -> str:
    return f"{call.level} {call.logger or 'any logger'}: {call.text or 'a computed text'}"


def _reads(wording: LogCall, call: LogCall) -> bool:
    """Returns whether a wording reads a text that has words where the wording has a value."""
    if call.logger not in (None, wording.logger) or call.level != wording.level:
        return False
    values = _values(wording.text, call.text)
    return values is not None and all(each == "{}" or "{}" not in each for each in values)


def _completes(wording: LogCall, call: LogCall, constants: str) -> bool:
    """Returns whether a wording has words of Kafka's where the text has values."""
    if (call.logger, call.level) != (wording.logger, wording.level):
        return False
    values = _values(call.text or "{}", wording.text)
    return values is not None and all(_has_words(each, constants) for each in values)


def _values(pattern: str | None, text: str | None) -> tuple[str, ...] | None:
    """What a text has in the places of a pattern."""
    words = map(re.escape, (pattern or "").split("{}"))
    match = re.fullmatch("(.*?)".join(words), text or "", re.DOTALL)
    return None if match is None else match.groups()


def _has_words(text: str, constants: str) -> bool:
    return all(words in constants for words in _PLACEHOLDER.split(text) if words.strip(" .:,'`"))
