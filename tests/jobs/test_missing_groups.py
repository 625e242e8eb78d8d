"""check and doctor name every group that is seen but has no generation."""

import pytest

from jobs.checks.check import notes
from jobs.doctor.lakes import check_lake
from jobs.lake.missing_groups import EVENT_REASON, VIEW
from schemas import view_sql

pytestmark = pytest.mark.embedded_suffices
REASON = "no target assignment in the records"


def lake_with_share_groups(lake, frame):
    groups = [
        {"group_id": name, "log_offset": offset, "group_type": "share", "key_type": 11}
        for offset, name in enumerate(["jobs", "a\x1b[2J"])
    ]
    lake.replace("group_records", frame("group_records", groups))
    return lake.root


def test_check_names_the_groups_of_each_reason(lake, frame):
    assert notes(lake_with_share_groups(lake, frame)) == [
        f"c: 2 groups without generations ({REASON}): a\\x1b[2J, jobs"
    ]


def test_doctor_warns_of_them(lake, frame):
    root = lake_with_share_groups(lake, frame)

    *_, result = check_lake(root)

    assert (result.check, result.severity) == ("groups", "warning")
    assert result.text == f"c: 2 groups without generations ({REASON}): a\x1b[2J, jobs"
    assert result.remedy == (
        f'see them: `regroup sql --lake {root} "SELECT * FROM groups_without_generations"`'
    )


def test_the_summary_and_the_view_have_the_same_reasons():
    """A run has the reasons of its dates, the view those of all dates."""
    assert " ".join(EVENT_REASON.split()) in " ".join(view_sql(VIEW).split())
