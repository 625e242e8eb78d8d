"""Predicts the changes of groups whose evidence is in a file of `bench.what_if.beside`.

    python bench/what_if/player.py FILE

Prints a JSON array: the number of predictions, their CPU time in s, and a hash of their figures.
Runs with the code of earlier versions, too.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from hashlib import sha256
from pathlib import Path

from coordinator_core.incident import incarnations
from coordinator_core.whatif import UNCHANGED, SettingsChange, baseline_of, predict_each


def main(file: str) -> None:
    figures, count, began_s = sha256(), 0, time.process_time()
    for group_id, events, records, versions, commits, until_ms, texts in pickle.loads(
        Path(file).read_bytes()
    ):
        baseline = baseline_of(
            incarnations(group_id, events, records),
            offset_versions=versions,
            last_commit_ms=commits,
            until_ms=until_ms,
        )
        changes = [SettingsChange.of(text.split()) for text in texts]
        for prediction in predict_each(baseline, (UNCHANGED, *changes), seeds=1):
            count += 1
            figures.update(repr((group_id, prediction.outcomes)).encode())
    print(json.dumps([count, time.process_time() - began_s, figures.hexdigest()]))


if __name__ == "__main__":
    main(sys.argv[1])
