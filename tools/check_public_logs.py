"""Compare the log reader with labelled lines of published broker logs.

    python -m tools.check_public_logs DIR

DIR holds the logs and expected.tsv: file, line, event, group, generation, member, cause, note.
Prints the agreement per column, every disagreement, and the number of coordinator lines without a
label; exits 1 on a disagreement or a quarantined line.  The logs belong to others: no part of them
is stored.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jobs.sources.logs.entries import LogCounts, LogEntry, Unreadable
from jobs.sources.logs.files import read_log

COLUMNS = ("event", "group", "generation", "member", "cause")
# The labels name the cause of an expired session by the words of the line.
CAUSES = {"HEARTBEAT_EXPIRY": "SESSION_EXPIRY"}
# Events that the labels do not distinguish.
LABELLED_OTHER = {
    "EMPTY_ASSIGNMENTS",
    "OFFSETS_DELETED",
    "OFFSETS_EXPIRED",
    "PARTITION_UNLOAD",
    "STORE_FAILED",
    "TOMBSTONES",
}


@dataclass(frozen=True)
class Disagreement:
    file: str
    line: int
    column: str
    expected: str
    read: str


def main(folder: Path) -> int:
    agreed, unlabelled = Counter[str](), Counter[str]()
    differences: list[Disagreement] = []
    labels = labelled(folder / "expected.tsv")
    for file, expected in labels.items():
        lines = dict(read(folder / file))
        for line, label in expected.items():
            values = lines.get(line, {"event": "unread"})
            agreed.update(column for column in COLUMNS if label[column] == values.get(column, ""))
            differences += differing(file, line, label, values)
        unlabelled.update(lines[line]["event"] for line in lines.keys() - expected.keys())
    report(agreed, sum(map(len, labels.values())), unlabelled, differences)
    return 1 if differences or unlabelled["quarantined"] else 0


def differing(
    file: str, line: int, label: dict[str, str], values: dict[str, str]
) -> Iterator[Disagreement]:
    for column in COLUMNS:
        if label[column] != values.get(column, ""):
            yield Disagreement(file, line, column, label[column], values.get(column, ""))


def labelled(path: Path) -> dict[str, dict[int, dict[str, str]]]:
    """File -> line number -> label."""
    files: dict[str, dict[int, dict[str, str]]] = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for label in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            label["cause"] = CAUSES.get(label["cause"], label["cause"])
            files.setdefault(label["file"], {})[int(label["line"])] = label
    return files


def read(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number -> the columns by the reader."""
    with path.open("rb") as stream:
        for item in read_log(stream, file=path.name, timezone="UTC"):
            if isinstance(item, Unreadable):
                yield item.line_number, {"event": "quarantined"}
            elif isinstance(item, LogEntry):
                yield item.line_number, columns(item)
            else:
                assert isinstance(item, LogCounts)


def columns(entry: LogEntry) -> dict[str, str]:
    event = entry.line.event
    assert event is not None  # A parsed entry always has an event.
    shown = {
        "event": "OTHER" if event.event in LABELLED_OTHER else event.event,
        "group": event.group_id,
        "generation": event.generation,
        "member": event.member_id,
        "cause": event.cause,
    }
    return {name: "" if value is None else str(value) for name, value in shown.items()}


def report(
    agreed: Counter[str], labels: int, unlabelled: Counter[str], differences: list[Disagreement]
) -> None:
    for column in COLUMNS:
        print(f"{column:11}{agreed[column]:6} of {labels} agree")
    print(f"without a label: {', '.join(f'{n} {event}' for event, n in unlabelled.most_common())}")
    for difference in differences:
        print(
            f"{difference.file}:{difference.line} {difference.column}: "
            f"labelled {difference.expected!r}, read {difference.read!r}"
        )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.check_public_logs DIR (the logs and expected.tsv)")
    sys.exit(main(Path(sys.argv[1])))
