"""Maintenance: which rows and files are deleted, and that all others stay."""

import shutil
from datetime import date

import pytest
from deltalake import DeltaTable

from jobs.configuration.config import Config
from jobs.console.errors import UsageError
from jobs.lake.sql import query
from jobs.maintain import COLUMNS, MaintainOptions, maintain

TODAY = date(2026, 11, 21)
YESTERDAY, OLD, TIMELESS = date(2026, 11, 20), date(2026, 11, 18), date(1970, 1, 1)


@pytest.fixture(scope="module")
def written(tmp_path_factory, write_lake, frame):
    """Churn of three dates and one row without a time; two more commits leave small files."""
    root = tmp_path_factory.mktemp("written")
    days = {1: OLD, 2: YESTERDAY, 3: TODAY, 4: TIMELESS}
    rows = [{"group_id": "g", "generation": n, "event_date": day} for n, day in days.items()]
    write_lake(root, {"churn": rows})
    for generation in (5, 6):
        more = frame("churn", [{"group_id": "g", "generation": generation, "event_date": TODAY}])
        more.write.format("delta").mode("append").save(str(root / "churn"))
    return root


@pytest.fixture
def lake(written, tmp_path):
    return str(shutil.copytree(written, tmp_path, dirs_exist_ok=True))


def generations(lake):
    return [row[0] for row in query(lake, "SELECT generation FROM churn ORDER BY generation")[1]]


def by_table(rows):
    return {row[0]: dict(zip(COLUMNS[1:], row[1:], strict=True)) for row in rows}


def test_small_files_of_a_date_are_combined_and_deleted(config, lake, tmp_path):
    rows = by_table(maintain(MaintainOptions(lake, vacuum_hours=0), config, TODAY))

    assert rows == {
        "churn": {
            "oldest_kept": None,
            "rows_removed": 0,
            "files_before": 6,
            "files_after": 4,
            "files_deleted": 3,
        }
    }
    assert len(list((tmp_path / "churn").rglob("part-*.parquet"))) == 4
    assert generations(lake) == [1, 2, 3, 4, 5, 6]


@pytest.mark.embedded_suffices
def test_old_dates_are_deleted_and_rows_without_a_time_stay(config, lake):
    rows = by_table(maintain(MaintainOptions(lake, keep_days=1), config, TODAY))

    assert (rows["churn"]["oldest_kept"], rows["churn"]["rows_removed"]) == (YESTERDAY, 1)
    assert generations(lake) == [2, 3, 4, 5, 6]


@pytest.mark.embedded_suffices
def test_rows_removed_by_an_earlier_call_are_not_counted_again(config, lake):
    maintain(MaintainOptions(lake, keep_days=1), config, TODAY)

    rows = by_table(maintain(MaintainOptions(lake, keep_days=1), config, TODAY))

    assert rows["churn"]["rows_removed"] == 0


@pytest.mark.embedded_suffices
def test_group_days_is_never_deleted(config, tmp_path, write_lake):
    write_lake(tmp_path, {"group_days": [{"group_id": "g", "event_date": OLD}]})

    rows = by_table(maintain(MaintainOptions(str(tmp_path), keep_days=1), config, TODAY))

    assert rows["group_days"]["rows_removed"] == 0
    assert query(str(tmp_path), "SELECT event_date FROM group_days")[1] == [(OLD,)]


@pytest.mark.embedded_suffices
def test_files_of_recent_versions_stay(config, lake):
    before = DeltaTable(f"{lake}/churn").version()

    rows = by_table(maintain(MaintainOptions(lake), config, TODAY))

    assert rows["churn"]["files_deleted"] == 0
    was = DeltaTable(f"{lake}/churn", version=before).to_pyarrow_table()
    assert sorted(was["generation"].to_pylist()) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (MaintainOptions("{lake}", keep_days=0), "--keep-days 0: use 1 or more"),
        (MaintainOptions("{lake}", vacuum_hours=-1), "--vacuum-hours -1: use 0 or more"),
        (MaintainOptions("/nowhere"), "--lake /nowhere: no such folder"),
    ],
)
def test_a_wrong_option_is_refused(options, message, tmp_path):
    root = options.lake.replace("{lake}", str(tmp_path))

    with pytest.raises(UsageError, match=message):
        maintain(MaintainOptions(root, options.keep_days, options.vacuum_hours), Config(), TODAY)
