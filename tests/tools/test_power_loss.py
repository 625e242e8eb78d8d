"""Copies of a lake as a loss of power leaves them; `make -C tools power-loss` tries many more."""

import os
import random

import pytest

from tools.faults.power_loss import INCIDENT, LOST, crashed_runs, lose, verdict

CONTENT = b"0123456789"


@pytest.fixture
def lakes(tmp_path):
    """A lake before a run, with file ``old``, and after it, with 8 more files, oldest first."""
    before, lake = tmp_path / "before", tmp_path / "lake"
    for folder in (before, lake):
        folder.mkdir()
        (folder / "old").write_bytes(CONTENT)
    for number in range(8):
        file = lake / f"new-{number}"
        file.write_bytes(CONTENT)
        os.utime(file, (number, number))
    (lake / ".run.lock").write_bytes(b"")
    return before, lake


@pytest.mark.parametrize("seed", range(20))
def test_only_the_last_files_are_damaged_and_only_the_last_renames_are_lost(lakes, seed):
    before, lake = lakes

    losses = lose(lake, before, random.Random(seed))

    names = [loss.split(": ")[1] for loss in losses]
    kinds = [loss.split(": ")[0] for loss in losses]
    assert names == [f"new-{number}" for number in range(7, 7 - len(names), -1)]
    lost = kinds.count("not renamed")
    assert kinds[:lost] == ["not renamed"] * lost
    sizes = {"whole": 10, "empty": 0, "half": 5}
    for name, kind in zip(names, kinds, strict=True):
        if kind == "not renamed":
            assert not (lake / name).exists()
            assert (lake / f"{name}#1").read_bytes() == CONTENT
        else:
            assert (lake / name).stat().st_size == sizes[kind]
    assert (lake / "old").read_bytes() == CONTENT


@pytest.mark.campaign
@pytest.mark.slow
def test_the_next_run_ends_with_the_same_tables_or_names_the_damage(tmp_path):
    for run in crashed_runs(tmp_path, INCIDENT, count=2, seed=1):
        verdicts = [verdict(run, copy) for copy in run.copies]
        assert len(verdicts) == 1
        assert not any(each.startswith(LOST) for each in verdicts), verdicts
