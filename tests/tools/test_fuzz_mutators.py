"""Mutations of `make -C tools fuzz` that come from a folder of Python files."""

import random
from pathlib import Path

import pytest

from tools.fuzz import mutations
from tools.fuzz.campaign import write_inputs
from tools.fuzz.outside import mutations_in

EXAMPLE = Path(__file__).parent / "mutators"


def test_a_folder_has_mutations_by_kind():
    by_kind = mutations_in(EXAMPLE)

    assert sorted(by_kind) == ["client", "dump", "log", "trace"]
    (swapped,) = by_kind["log"]
    assert swapped(b"a\nb\n", random.Random(1)) == b"b\na\n"


def test_a_campaign_uses_them_beside_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(mutations, "MUTATIONS", {"log": [lambda data, chance: data + b"own"]})
    mutations.add({"log": [lambda data, chance: data + b"outside"]})

    texts = {mutations.mutated("log", b"", random.Random(seed)) for seed in range(30)}

    assert {b"own", b"outside"} < texts


def test_a_seed_gives_the_same_inputs_again(tmp_path, monkeypatch):
    monkeypatch.setattr(mutations, "MUTATIONS", dict(mutations.MUTATIONS))
    mutations.add(mutations_in(EXAMPLE))
    contents = []
    for name in ("first", "second"):
        write_inputs(tmp_path / name, 0, 12, 5)
        files = sorted(file for file in (tmp_path / name).rglob("*") if file.is_file())
        contents.append([file.read_bytes() for file in files])

    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no Python file with MUTATIONS"),
        ("x = 1", "no MUTATIONS; give a dict"),
        ("MUTATIONS = {'logs': []}", "unknown kind logs; use log, segment"),
    ],
)
def test_a_folder_without_mutations_is_an_error(tmp_path, text, message):
    if text:
        (tmp_path / "mine.py").write_text(text)

    with pytest.raises(SystemExit, match=message):
        mutations_in(tmp_path)
