"""Values with many fields are built by keyword: large dataclasses are keyword-only."""

from pathlib import Path

from tools.structure.calls import long_calls, positional_types

ROOT = Path(__file__).parent.parent.parent
MOST = 6


def test_no_call_of_a_constructor_has_more_positional_arguments():
    assert long_calls(ROOT, MOST + 1) == []


def test_a_dataclass_with_more_fields_is_keyword_only():
    assert positional_types(ROOT, MOST) == {}
