"""KEY=VALUE of what-if: what is understood, and what is said of what is not."""

import pytest

from coordinator_core.whatif import GRID, UNCHANGED, InvalidSetting, SettingsChange


def test_read_and_written():
    change = SettingsChange.of(["session_timeout_ms=45000", "membership=static"])

    assert change == SettingsChange(membership="static", session_timeout_ms=45_000)
    assert str(change) == "membership=static session_timeout_ms=45000"
    assert str(UNCHANGED) == "unchanged"


def test_a_protocol_is_an_assignor():
    assert SettingsChange.of(["protocol=cooperative"]).assignors == ("cooperative-sticky",)
    assert SettingsChange.of(["protocol=eager"]).assignors == ("range",)
    assert SettingsChange.of(["assignor=sticky", "protocol=eager"]).assignors == ("sticky",)
    assert UNCHANGED.assignors is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("speed=1", "speed=1: no such setting; there are membership, protocol"),
        ("membership", "membership: membership is one of static, dynamic"),
        ("membership=maybe", "is one of static, dynamic"),
        ("assignor=mine", "is one of range, roundrobin, sticky, cooperative-sticky"),
        ("era=1.0", "is one of 0.9"),
        ("session_timeout_ms=45s", "is a whole number of milliseconds"),
        ("session_timeout_ms=-1", "is a whole number of milliseconds"),
        ("session_timeout_ms=0", "is 1 to 2147483647"),
        ("rebalance_timeout_ms=99999999999", "is 1 to 2147483647"),
    ],
)
def test_what_is_wrong(text, said):
    with pytest.raises(InvalidSetting, match=said.replace("(", r"\(")):
        SettingsChange.of([text])


def test_twice():
    with pytest.raises(InvalidSetting, match="given twice"):
        SettingsChange.of(["era=4.1", "era=3.9"])


def test_a_delay_may_be_zero():
    assert SettingsChange.of(["initial_rebalance_delay_ms=0"]).initial_rebalance_delay_ms == 0


def test_the_grid_is_twelve_changes():
    assert len(set(GRID)) == 12
    assert UNCHANGED not in GRID
