"""Clocks are compared only by generations that a client joined when they were made."""

from tests.cases.test_reading import INPUTS
from tests.end_to_end.incident_lake import IncidentLake


def test_a_static_member_that_replaced_itself_shows_no_clock(tmp_path, capsys):
    """It joined generation 3 ten minutes after the generation was made."""
    folder = INPUTS / "client-09"
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")

    lake.run(
        "c",
        None,
        folder / "server-2.5.log",
        client_log=str(folder / "consumer.err"),
        advice=False,
    )

    printed = "".join(capsys.readouterr())
    assert "clocks that differ" not in printed
    assert lake.rows("SELECT client_id, generations FROM client_clocks") == []
