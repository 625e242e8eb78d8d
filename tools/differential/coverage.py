"""Prints the runner's counts of what occurred inside Kafka, one column per era."""

from __future__ import annotations

import json
from pathlib import Path

SUBJECTS = (
    "transitions",
    "shown states",
    "timers",
    "answers",
    "left members",
    "committed partitions",
)


def print_coverage(tallies: dict[str, Path]) -> None:
    counts = {era: json.loads(path.read_text("utf-8")) for era, path in tallies.items()}
    for subject in SUBJECTS:
        print(f"\n{subject:<58}" + "".join(f"{era:>9}" for era in counts))
        for case in sorted({case for tally in counts.values() for case in tally.get(subject, {})}):
            row = [tally.get(subject, {}).get(case, 0) for tally in counts.values()]
            print(f"  {case:<56}" + "".join(f"{count:>9}" for count in row))
