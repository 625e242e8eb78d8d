"""SQL over the lake: tables and views by name, and errors in one line."""

from datetime import date, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.console.errors import UsageError
from jobs.lake.opening import open_lake
from jobs.lake.sql import LakeReader, query
from schemas import (
    table_columns,
    table_names,
    table_partitioning,
    view_columns,
    view_dependencies,
    view_names,
    views_in_order,
)
from schemas.renamed import RENAMED


@pytest.fixture(scope="module")
def empty(write_lake, tmp_path_factory):
    """Every table, without rows."""
    return write_lake(tmp_path_factory.mktemp("empty"), {table: [] for table in table_names()})


@pytest.fixture(scope="module")
def lake(write_lake, tmp_path_factory):
    place = {"group_id": "billing", "generation": 4}
    return write_lake(
        tmp_path_factory.mktemp("lake"),
        {
            "generations": [
                place | {"cause": "LEADER_REJOIN", "culprit_client_id": "app", "member_count": 2},
                place | {"generation": 5, "cause": "MEMBER_NEW"},
            ],
            "rebalance_latency": [
                place
                | {"preparing_time": 1000, "to_time": 1250, "join_ms": 200, "sync_ms": 50}
                | {"total_ms": 250, "outcome": "stable", "logical_rebalance": 4, "round": 1},
                place
                | {"generation": 5, "outcome": "stable", "logical_rebalance": 5, "round": 1}
                | {"total_ms": 100},
            ],
            "churn": [
                place | {"partitions_moved": 0, "partitions_orphaned": 0, "partitions_new": 0},
                place
                | {"generation": 5, "partitions_moved": 3, "partitions_orphaned": 0}
                | {"partitions_new": 0},
            ],
            "rebalance_causes": [],
            "timeline": [],
            "committed_offsets": [],
        },
    )


@pytest.mark.parametrize("table", table_names())
def test_an_empty_table_has_its_columns(empty, table):
    columns, rows = query(empty, f"SELECT * FROM {table}")

    assert columns[0] == "cluster_id"
    assert rows == []


@pytest.mark.parametrize(
    "columns",
    [
        "SUM(join_ms), MAX(to_time) - MIN(to_time) FROM rebalance_latency",
        "SUM(LEN(members)), MAX(members[1].assigned[1].partitions[1] + 1) FROM group_metadata",
        "LIST_SUM(MAP_VALUES(MAX(kept_by_date))), MAX(bytes + 1) FROM ingested_files",
    ],
    ids=["plain", "lists of structs", "maps"],
)
def test_an_empty_tables_columns_have_their_types(empty, columns):
    assert query(empty, f"SELECT {columns}")[1] == [(None, None)]


@pytest.mark.parametrize("view", view_names())
def test_every_view_can_be_queried_and_each_column_has_a_comment(empty, view):
    columns, rows = query(empty, f"SELECT * FROM {view}")

    assert columns[0] == "cluster_id"
    assert rows == []
    assert columns == list(view_columns(view))


@pytest.mark.parametrize("view", view_names())
def test_a_view_comes_after_the_views_it_reads(view):
    above = views_in_order()[: views_in_order().index(view)]

    assert view_dependencies(view) <= {*table_names(), *above}


def test_comments_of_views_are_in_duckdb(lake):
    _, views = query(
        lake, "SELECT comment FROM duckdb_views() WHERE view_name = 'q05_moved_nothing'"
    )
    _, columns = query(
        lake,
        "SELECT column_name, comment FROM duckdb_columns() "
        "WHERE table_name = 'q05_moved_nothing' AND column_name = 'total_ms'",
    )

    assert views == [("rebalances that changed no partition's owner.",)]
    assert columns == [("total_ms", "ms not Stable")]


def test_a_view_warns_of_a_missing_table_that_nightly_does_not_write(lake, capsys):
    columns, rows = query(lake, "SELECT group_id, seeds, from_time FROM q12_what_if")

    assert (columns, rows) == (["group_id", "seeds", "from_time"], [])
    notices = capsys.readouterr().err.splitlines()
    assert notices == [
        f"--lake {lake}: no table {table} in it yet; run `regroup what-if-sweep`"
        for table in ["advice", "what_if"]
    ]


def test_a_view_fails_without_a_table_that_nightly_writes(lake):
    with pytest.raises(UsageError, match="no table assignor_quality in it yet; run `regroup nigh"):
        query(lake, "SELECT * FROM q06_assignors")


def test_a_view_that_reads_another_view(lake):
    _, rows = query(lake, "SELECT group_id, generation, culprit, total_ms FROM q05_moved_nothing")

    assert rows == [("billing", 4, "app", 250)]


def test_sums_in_a_view_are_integers_as_in_spark(lake):
    _, rows = query(
        lake,
        "SELECT TYPEOF(not_stable_ms), not_stable_ms FROM q01_by_day",
    )

    assert rows == [("BIGINT", 350)]


def test_table_names_ignore_case_and_quotes(lake):
    _, rows = query(lake, 'WITH x AS (SELECT * FROM Generations) SELECT MAX(generation) FROM "x"')

    assert rows == [(5,)]


def test_dates_and_times_are_utc(lake):
    _, rows = query(
        lake, "SELECT event_date, preparing_time FROM rebalance_latency WHERE generation = 4"
    )

    assert rows == [(date(2026, 11, 21), datetime(1970, 1, 1, 0, 0, 1))]


def test_columns_are_in_the_tables_order(lake):
    columns, _ = query(lake, "SELECT * FROM churn")

    assert columns[:5] == ["cluster_id", "group_id", "incarnation", "generation", "event_date"]


def test_clusters_of_any_name(spark, frame, tmp_path):
    names = ["123", "50% new", "a/b", "o'neil", "ü"]
    rows = [{"cluster_id": name, "group_id": "g", "generation": 1} for name in names]
    open_lake(spark, str(tmp_path), "c").insert_new("churn", frame("churn", rows))

    _, rows_read = query(
        str(tmp_path), "SELECT cluster_id, group_id FROM churn ORDER BY cluster_id"
    )

    assert rows_read == [(name, "g") for name in names]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("", "no statement; give one SELECT, a table or view, DESCRIBE, EXPLAIN or SHOW TABLES"),
        (";", "no statement; give one SELECT"),
        ("SELEC 1", 'syntax error at or near "SELEC"'),
        ("SELECT nothing FROM generations", 'Referenced column "nothing" not found'),
        ("SELECT 1,\n\tnothing FROM churn", ", line 2, column 2 (SHOW TABLES lists all)"),
        ("SELECT 1 FROM nowhere", "no table or view nowhere; SHOW TABLES lists all"),
        ("SELECT 1 FROM quarantine", "no table quarantine in it yet; run `regroup nightly`"),
        ("SELECT 'x'::INT FROM churn", "Could not convert string 'x' to INT32"),
    ],
)
def test_an_error_is_one_line(lake, statement, message):
    with pytest.raises(UsageError) as raised:
        query(lake, statement)

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


COPIES = "WITH x AS (COPY (SELECT 1 AS a) TO '{file}') SELECT * FROM x"
SERIALIZED = "json_execute_serialized_sql(json_serialize_sql($${COPIES}$$))".replace(
    "{COPIES}", COPIES
)
WRITES = [
    "COPY (SELECT 1) TO '{file}'",
    "SELECT 1; COPY (SELECT 1) TO '{file}'",
    "COPY (PIVOT churn ON outcome USING COUNT(*)) TO '{file}'",
    COPIES,
    COPIES.replace("COPY", "/**/ cOpY"),
    f"EXPLAIN ANALYZE {COPIES}",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}'",
    "EXPLAIN ANALYZE COPY (PIVOT churn ON generation USING COUNT(*)) TO '{file}'",
    "EXPLAIN (ANALYZE) COPY (SELECT 1) TO '{file}'",
    f"PIVOT (FROM churn) ON generation USING COUNT(*); {COPIES}",
    COPIES.replace("FROM x", "FROM (PIVOT (FROM churn) ON generation USING COUNT(*))"),
    f"SELECT * FROM {SERIALIZED}",
    f"SELECT * FROM query('FROM {SERIALIZED}')",
    "ATTACH '{file}'",
    "EXPORT DATABASE '{file}'",
    "SELECT * FROM enable_profiling(save_location := '{file}')",
    "CALL enable_logging('QueryLog', storage_path = '{file}')",
    "CREATE TABLE x AS SELECT 1",
    "WITH x AS (SELECT 1) INSERT INTO churn SELECT * FROM x",
    "SET threads = 1",
    "PRAGMA threads = 1",
    "INSTALL httpfs",
    "LOAD json",
    "USE memory",
    "BEGIN",
]


@pytest.mark.parametrize("folder", ["lake", "elsewhere"])
@pytest.mark.parametrize("statement", WRITES)
def test_a_statement_writes_nothing(lake, statement, folder, tmp_path):
    file = Path(lake, "churn", "written") if folder == "lake" else tmp_path / "written"

    with pytest.raises(UsageError) as raised:
        query(lake, statement.replace("{file}", str(file)))

    assert not file.exists()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_text('{lake}/churn/../../{name}/secret.csv')",
    ],
)
def test_a_statement_reads_only_the_lakes_tables(lake, statement, tmp_path):
    file = tmp_path / "secret.csv"
    file.write_text("secret")
    text = statement.replace("{file}", str(file)).replace("{folder}", str(tmp_path))
    text = text.replace("{lake}", lake).replace("{name}", tmp_path.name)

    with pytest.raises(UsageError, match=r"only tables of the lake can be read; SHOW TABLES lists"):
        query(lake, text)


@pytest.mark.parametrize(
    ("statement", "excerpt"),
    [
        ("SELECT nothing FROM churn", "line 1: SELECT nothing FROM churn\n               ^^^^^^^"),
        ("-- why\n\nSELECT 'é',\n\tno FROM churn", "line 4:  no FROM churn\n         ^^"),
        (
            "EXPLAIN SELECT no FROM churn",
            "line 1: EXPLAIN SELECT no FROM churn\n" + " " * 23 + "^^",
        ),
        ("SELECT x FORM y", "line 1: SELECT x FORM y\n                      ^"),
        ("SELECT * FROM zzz", "line 1: SELECT * FROM zzz\n                      ^^^"),
        (
            "SELECT" + " generation," * 90 + " no, generation, generation, generation FROM churn",
            "line 1: ..."
            "neration, generation, generation, generation, generation, generation, no,"
            " generation, generation, gene\n" + " " * 81 + "^^",
        ),
        ("SELECT 1; SELECT 2", ""),
    ],
)
def test_carets_point_at_the_users_text(lake, statement, excerpt):
    with pytest.raises(UsageError) as raised:
        query(lake, statement)

    assert raised.value.excerpt == excerpt


def test_files_are_read_and_written_only_when_allowed(lake, tmp_path):
    file = tmp_path / "generations.csv"
    copy = f"COPY (SELECT generation FROM churn ORDER BY 1) TO '{file}'"

    written = query(lake, copy, allow_files=True)[1]

    assert (written, file.read_text()) == ([(2,)], "generation\n4\n5\n")
    assert query(lake, f"FROM read_csv('{file}')", allow_files=True)[1] == [(4,), (5,)]
    for statement in ("SELECT 1; SELECT 2", "SET threads = 1", f"ATTACH '{file}.db'"):
        with pytest.raises(UsageError, match="give one SELECT"):
            query(lake, statement, allow_files=True)


def test_temporary_files_are_not_in_the_current_folder(lake):
    folder = query(lake, "SELECT current_setting('temp_directory')")[1][0][0]

    assert Path(folder).name.startswith("regroup-scratch-")


@pytest.fixture(scope="module")
def reader(lake):
    return LakeReader(lake, {"threads": "1"})


def test_an_answer_of_many_rows_is_cut(reader):
    two = reader.answer("SELECT generation FROM churn ORDER BY 1", max_rows=2, seconds=60)
    one = reader.answer("SELECT generation FROM churn ORDER BY 1", max_rows=1, seconds=60)

    assert two == (["generation"], ["INTEGER"], [(4,), (5,)], False)
    assert one == (["generation"], ["INTEGER"], [(4,)], True)


def test_a_long_statement_is_stopped_and_the_next_one_is_answered(reader):
    endless = "SELECT COUNT(*) FROM range(10000000000), range(1000)"
    with pytest.raises(UsageError, match=r"^stopped after 0\.2 s; select fewer rows$"):
        reader.answer(endless, max_rows=1, seconds=0.2)

    assert reader.answer("SELECT 1", max_rows=1, seconds=60).rows == [(1,)]


def test_statements_that_name_the_same_tables_open_them_once(reader, monkeypatch):
    reader.answer("SELECT COUNT(*) FROM churn", max_rows=1, seconds=60)
    monkeypatch.setattr("jobs.lake.sql.open_tables", None)

    rows = reader.answer("SELECT MAX(generation) FROM Churn", max_rows=1, seconds=60).rows

    assert rows == [(5,)]


def test_a_statement_does_not_see_variables_of_the_program(lake):
    hidden = DeltaTable(f"{lake}/churn").to_pyarrow_table()
    assert hidden.num_rows == 2

    with pytest.raises(UsageError, match="no table or view hidden"):
        query(lake, "SELECT * FROM hidden")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT 1; SELECT 2", "2 statements; give one SELECT, a table or view, DESCRIBE, EXPLAIN"),
        ("copy churn to 'x'", "COPY: needs `regroup sql --allow-files`; give one SELECT"),
        ("set threads = 1", "SET: only statements that read are allowed; give one SELECT"),
    ],
)
def test_a_refusal_says_what_to_give(lake, statement, message):
    with pytest.raises(UsageError, match=message):
        query(lake, statement)


READS = [
    ("WITH x AS (SELECT * FROM churn) SELECT MAX(generation) FROM x", [(5,)]),
    ("FROM churn SELECT MAX(generation)", [(5,)]),
    ("(SELECT MAX(generation) FROM churn)", [(5,)]),
    ("-- newest\nSELECT MAX(generation) FROM churn -- ; and nothing else", [(5,)]),
    ("SELECT MAX(generation) AS copy, ';' FROM churn;", [(5, ";")]),
    ("SELECT MAX(generation) FROM query('FROM churn')", [(5,)]),
    ("PIVOT (SELECT generation FROM churn) ON generation USING COUNT(*)", [(1, 1)]),
    ("VALUES (1), (2)", [(1,), (2,)]),
]


@pytest.mark.parametrize(("statement", "expected"), READS)
def test_a_statement_that_reads(lake, statement, expected):
    assert query(lake, statement)[1] == expected


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        ("DESCRIBE churn", ("event_date", "DATE", "UTC date of the generation")),
        (
            "desc Q03_CAUSES;",
            ("percent", "DOUBLE", "share of the group's generations with a known trigger"),
        ),
    ],
)
def test_describe_shows_the_comment_of_each_column(lake, statement, column):
    columns, rows = query(lake, statement)

    assert columns == ["column_name", "column_type", "comment"]
    assert column in rows


@pytest.mark.parametrize("statement", ["DESCRIBE churn", "SUMMARIZE churn", "SHOW churn"])
def test_a_statement_that_describes_a_table(lake, statement):
    assert query(lake, statement)[1][0][0] == "cluster_id"


@pytest.mark.parametrize("analyze", ["", "ANALYZE", "(ANALYZE)", "(FORMAT json)"])
def test_a_plan(lake, analyze):
    columns, rows = query(lake, f"EXPLAIN {analyze} SELECT * FROM churn")

    assert columns == ["explain_key", "explain_value"]
    assert "PARQUET" in str(rows).upper()


def test_the_plan_of_a_pivot(lake):
    rows = query(lake, "EXPLAIN PIVOT churn ON generation USING COUNT(*)")[1]

    assert "PARQUET" in str(rows).upper()


def test_a_lake_in_a_relative_folder(lake, monkeypatch):
    monkeypatch.chdir(Path(lake).parent)

    assert query(Path(lake).name, "SELECT MAX(generation) FROM churn")[1] == [(5,)]


def test_no_lake(tmp_path):
    with pytest.raises(UsageError, match=r"^--lake .*/none: no such folder; run `regroup nightly"):
        query(f"{tmp_path}/none", "SELECT 1")


def test_a_damaged_table(tmp_path):
    log = tmp_path / "churn" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("{nonsense")

    with pytest.raises(UsageError, match=r"^--lake .*: table churn: .+ is damaged") as raised:
        query(str(tmp_path), "SELECT 1 FROM churn")
    assert "\n" not in str(raised.value)


def test_a_lake_in_a_folder_with_a_space(write_lake, tmp_path):
    root = write_lake(
        tmp_path / "my lake, 100%", {"generations": [{"group_id": "g", "generation": 1}]}
    )

    assert query(root, "SELECT group_id FROM generations") == (["group_id"], [("g",)])


def test_a_column_that_an_older_table_lacks_is_null_and_of_its_type(write_lake, tmp_path):
    run = {"run_id": "r", "step": "nightly", "from_time": 0, "seconds": 1.0, "outcome": "done"}
    newer = write_lake(tmp_path / "newer", {"runs": [run]})
    older = DeltaTable(f"{newer}/runs").to_pyarrow_table().drop_columns(["own_versions", "options"])
    write_deltalake(str(tmp_path / "older" / "runs"), older)

    columns, rows = query(
        str(tmp_path / "older"), "SELECT run_id, own_versions['t'] + 1, MAP_KEYS(options) FROM runs"
    )

    assert (len(columns), rows) == (3, [("r", None, None)])


def with_old_names(table, new, old):
    """The table at ``new``, written again at ``old`` under the names of the previous version."""
    rows = DeltaTable(str(new)).to_pyarrow_table()
    names = {name: before for before, name in RENAMED[table].items()}
    renamed = rows.rename_columns([names.get(name, name) for name in rows.column_names])
    write_deltalake(str(old), renamed, partition_by=table_partitioning(table))


@pytest.mark.parametrize("is_old", [True, False])
def test_a_renamed_column_has_its_present_name_and_for_now_its_old_one(
    write_lake, tmp_path, is_old
):
    latency = {"group_id": "g", "generation": 1, "preparing_time": 1000, "to_time": 1250}
    root = write_lake(tmp_path / "new", {"rebalance_latency": [latency]})
    if is_old:
        with_old_names(
            "rebalance_latency",
            tmp_path / "new" / "rebalance_latency",
            tmp_path / "old" / "rebalance_latency",
        )
        root = str(tmp_path / "old")

    columns, [[present]] = query(root, "SELECT to_time FROM rebalance_latency")
    assert (columns, present) == (["to_time"], datetime(1970, 1, 1, 0, 0, 1, 250_000))
    assert query(root, "SELECT l.end_time FROM rebalance_latency l")[1] == [(present,)]
    view = "SELECT l.end_time, l.to_time FROM logical_rebalances l"
    assert query(root, view)[1] == [(present, present)]
    assert "end_time" not in query(root, "SELECT * FROM rebalance_latency")[0]


@pytest.mark.parametrize("name", sorted(RENAMED))
def test_renamed_columns_exist_under_their_present_names_only(name):
    columns = table_columns(name) if name in table_names() else list(view_columns(name))

    assert set(RENAMED[name].values()) <= set(columns)
    assert not RENAMED[name].keys() & set(columns)


def test_a_renamed_value_is_read_under_its_present_name_and_for_now_its_old_one(
    write_lake, tmp_path, capsys
):
    members = [
        {"group_id": "g", "generation": 1, "member_id": how, "process": "p", "left_how": how}
        for how in ("left", "expired")
    ]
    root = write_lake(tmp_path, {"generation_members": members})
    select = "SELECT member_id, left_how FROM generation_members WHERE left_how = 'session_expired'"

    assert query(root, select)[1] == [("expired", "session_expired")]
    assert capsys.readouterr().err == ""
    assert query(root, select.replace("session_expired", "expired"))[1] == query(root, select)[1]
    assert capsys.readouterr().err == "left_how: 'expired' is renamed to 'session_expired'\n"
    assert query(root, "SELECT 'expired' AS word")[1] == [("expired",)]


def test_a_table_whose_columns_were_renamed_since_is_refused(write_lake, tmp_path):
    run = {"run_id": "r", "step": "nightly", "from_time": 0, "seconds": 1.0, "outcome": "done"}
    newer = write_lake(tmp_path / "newer", {"runs": [run]})
    rows = DeltaTable(f"{newer}/runs").to_pyarrow_table()
    names = ["given" if name == "options" else name for name in rows.column_names]
    write_deltalake(str(tmp_path / "older" / "runs"), rows.rename_columns(names))

    with pytest.raises(UsageError, match="older/runs: column given is unknown to this version"):
        query(str(tmp_path / "older"), "SELECT run_id FROM runs")


def test_show_tables_lists_tables_and_views_with_their_descriptions(lake):
    columns, rows = query(lake, "show tables;")

    kinds = {name: kind for name, kind, _ in rows}
    assert columns == ["name", "kind", "about"]
    assert (kinds["generations"], kinds["q01_by_day"]) == ("table", "view")
    assert len(rows) == len(table_names()) + len(view_names())
    assert all(about for _, _, about in rows)


@pytest.mark.parametrize("statement", ["rebalance_latency", "rebalance_lat", "REBALANCE_LATENCY;"])
def test_a_name_or_its_unique_beginning_selects_all(lake, statement):
    assert query(lake, statement) == query(lake, "SELECT * FROM rebalance_latency")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("q01", "q01: name one of q01_by_day, q01_episodes, q01_most_rebalanced_groups"),
        (
            "SELECT * FROM q01",
            "no table or view q01; did you mean q01_by_day or q01_episodes or"
            " q01_most_rebalanced_groups? SHOW TABLES lists all",
        ),
        (
            "SELECT * FROM timelines",
            "no table or view timelines; did you mean timeline? SHOW TABLES lists all",
        ),
        ("SELECT * FROM zzz", "no table or view zzz; SHOW TABLES lists all"),
    ],
)
def test_an_unknown_name_is_answered_with_the_lakes_names(lake, statement, message):
    with pytest.raises(UsageError) as error:
        query(lake, statement)

    assert str(error.value) == message
