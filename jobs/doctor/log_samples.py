"""Samples of log files, which the checks of brokers' and of consumers' logs have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jobs.configuration.config import valid_timezone
from jobs.console.errors import UsageError
from jobs.doctor.results import CheckResult, failure, ok, warning
from jobs.lake.files import list_files, open_file
from jobs.sources.logs.entries import Unreadable
from jobs.sources.logs.file_bytes import Blocks
from jobs.sources.logs.kinds import Kind, is_error

# maximum bytes per file, uncompressed: reading them takes half a minute at most
MOST_BYTES = 16 << 20
MOST_SHOWN = 3
LONGEST_SHOWN = 160


class LogKind(NamedTuple):
    """The logs of one option; ``most_files`` is the number of newest files that are checked."""

    check: str
    option: str
    remedy: str
    name_like: str
    most_files: int


class LogSample(NamedTuple):
    """The lines of a file, or of its first MOST_BYTES bytes, uncompressed; ``damage`` is the damage
    of the compressed bytes after these lines.
    """

    file: str
    text: bytes
    is_complete: bool = True
    damage: str | None = None

    @property
    def name(self) -> str:
        return self.file if self.is_complete else f"first {MOST_BYTES >> 20} MiB of {self.file}"


class SilentLog(NamedTuple):
    """A log without an understood line; ``text`` states its numbers of lines."""

    text: str
    kind: Kind


Check = Callable[[LogSample, str], Iterator[CheckResult | SilentLog]]
"""The results for a sample, and its time zone, or None if the zone is invalid."""


def check_samples(
    logs: LogKind, pattern: str, timezone: str, check: Check
) -> Iterator[CheckResult]:
    """The results of ``check`` for a sample of each of the newest files, and for the files that
    cannot be read.  A log without understood lines is a failure if a run fails because of it."""
    try:
        zone = valid_timezone(timezone)
    except UsageError as error:
        yield failure(logs.check, str(error), "correct --log-timezone, or timezone under [logs]")
        return
    try:
        files = list_files(pattern, logs.option, name_like=logs.name_like)
    except UsageError as error:
        yield failure(logs.check, str(error), logs.remedy)
        return
    newest = sorted(files, key=_write_time)[-logs.most_files :]
    if len(files) > len(newest):
        yield ok(logs.check, f"{len(files)} files; checking the newest {len(newest)}")
    silent: list[SilentLog] = []
    for file in newest:
        try:
            sample = _sample(file)
        except OSError as error:
            remedy = "let this user read the file"
            yield failure(logs.check, f"{file} cannot be read: {error.strerror or error}", remedy)
            continue
        for result in check(sample, zone):
            if isinstance(result, SilentLog):
                silent.append(result)
            else:
                yield result
        if sample.damage is not None:
            remedy = "copy the file again; a run uses the lines before the damage"
            yield warning(logs.check, f"{file}: {sample.damage}", remedy)
    for text, kind in silent:
        severity = failure if is_error(kind, is_alone=len(silent) == len(files)) else warning
        yield severity(logs.check, f"{text}; {kind.what}", kind.remedy)


def unreadable_lines(
    check: str, sample: LogSample, lines: Sequence[Unreadable]
) -> Iterator[CheckResult]:
    """One result with the number of lines and the first of them; no result without such lines."""
    if not lines:
        return
    examples = [
        f"line {line.line_number}, {line.reason}: "
        + line.bytes[:LONGEST_SHOWN].decode("utf-8", "replace")
        for line in lines[:MOST_SHOWN]
    ]
    text = f"{sample.name}: {len(lines)} unreadable lines, first: {' | '.join(examples)}"
    yield warning(check, text, "a run quarantines unreadable lines and uses the other lines")


def _sample(file: str) -> LogSample:
    """Complete lines, if these are not all."""
    taken = bytearray()
    with open_file(file) as stream:
        blocks = Blocks(stream)
        for block in blocks:
            taken += block
            if len(taken) > MOST_BYTES:
                end = taken.rfind(b"\n", 0, MOST_BYTES) + 1
                return LogSample(file, bytes(taken[:end]), is_complete=False)
        return LogSample(file, bytes(taken), damage=blocks.damage)


def _write_time(file: str) -> float:
    """0 without a local file: of an object store, or rolled away since the files were listed."""
    try:
        return 0.0 if "://" in file else Path(file).stat().st_mtime
    except OSError:
        return 0.0
