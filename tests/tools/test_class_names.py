"""No two public classes of the repository have the same name."""

from pathlib import Path

from tools.structure.names import class_names

ROOT = Path(__file__).parent.parent.parent


def test_a_public_class_name_stands_for_one_class():
    assert class_names(ROOT) == {}
