"""`regroup serve`: views as JSON, who may ask, and what no request can do."""

import base64
import json
import multiprocessing
import signal
import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.console.errors import UsageError
from jobs.report.serve.app import HEALTH
from jobs.report.serve.statements import Limits, Statements, _run
from tests.jobs.report.planted import (
    HOSTILE,
    cause,
    episode,
    events,
    finding,
    gaps,
    generation,
    member,
    members,
    tables,
)
from tests.jobs.report.serving import objects, served

ENDLESS = "SELECT COUNT(*) FROM range(100000000) a, range(1000) b WHERE a.range % 7 < b.range"
TOKEN = "correct-horse-battery-staple"


def three_groups():
    """billing-1 and billing-2 have an episode each; the third has a hostile name."""
    one, two, hostile = {"group_id": "billing-1"}, {"group_id": "billing-2"}, {"group_id": HOSTILE}
    return tables(
        generation(1, 1000, 4000, 4100, 20_000, cause="MEMBER_NEW", culprit_client_id="a", **one),
        generation(2, 20_000, 22_000, 22_100, None, cause="LEAVE", culprit_client_id="b", **one),
        generation(1, 1000, 2000, 2100, None, cause="MEMBER_NEW", culprit_client_id="a", **two),
        generation(1, 5000, 5900, 6000, None, culprit_client_id=HOSTILE, cause="LEAVE", **hostile),
        **members(
            *(member(number, "a", (0, 1), **one) for number in (1, 2)),
            *(member(number, "b", (2,), **one) for number in (1, 2)),
            member(1, "a", (0,), **two),
            member(1, HOSTILE, (0,), process=HOSTILE, **hostile),
        ),
        rebalance_causes=[
            cause(1, 1000, "a", "MEMBER_NEW", "start", **one),
            cause(2, 20_000, "b", "LEAVE", "restart", **one),
            cause(1, 1000, "a", "MEMBER_NEW", "start", **two),
            cause(1, 5000, HOSTILE, "LEAVE", "stop", reason=HOSTILE, **hostile),
        ],
        ownership_gaps=gaps(2, 20_000, 22_100, (2,), 1, "billing-1"),
        episodes=[
            episode(1, "restart", 20_000, 30_000, group_id="billing-1"),
            episode(1, "restart", 1000, 2100, group_id="billing-2"),
        ],
        findings=[finding("KAFKA-10284", 5000, group_id="billing-1", remedy="x", confidence=0.9)],
        timeline=events(1000, 60_000, group_id="billing-1"),
    )


@pytest.fixture(scope="module")
def server(plant, tmp_path_factory):
    with served(plant(tmp_path_factory.mktemp("served"), three_groups())) as running:
        yield running


@pytest.fixture(scope="module")
def at_uri(server):
    """Arrow reads this lake, as it reads one in an object store."""
    with served(f"file://{server.lake.root}") as running:
        yield running


@pytest.mark.parametrize(
    ("view", "asked"),
    [
        ("overview", {}),
        ("groups", {"fold": "true"}),
        ("timeline", {"group": "billing-1"}),
        ("episodes", {"search": "restart"}),
        ("compare", {"group": "billing-1", "other_group": "billing-2"}),
        ("sql", {"query": "SELECT group_id, COUNT(*) FROM generations GROUP BY 1 ORDER BY 1"}),
    ],
)
def test_a_lake_at_a_uri_has_the_answers_of_its_folder(server, at_uri, view, asked):
    assert at_uri.ask(view, **asked) == server.ask(view, **asked)


def test_the_overview_has_totals_and_no_rows_of_groups(server):
    answer = server.ask("overview", cluster="c")

    assert answer["totals"]["groups"] == 3
    assert answer["totals"]["rebalances"] == 4
    assert answer["totals"]["unowned_partition_ms"] == 2100
    assert answer["findings"]["count"] == 1
    assert "groups" not in answer


def test_groups_are_sorted_and_found_by_words(server):
    listed = objects(server.ask("groups", sort="longest_ms", ascending="true")["listed"])
    assert [(row["group_id"], row["longest_ms"]) for row in listed] == [
        (HOSTILE, 1000),
        ("billing-2", 1100),
        ("billing-1", 3100),
    ]

    matching = server.ask("groups", search="RESTART billing-2")
    assert [row["group_id"] for row in objects(matching["listed"])] == ["billing-2"]
    assert (matching["groups"], matching["rows"]) == (1, 1)


def test_groups_that_look_alike_share_a_row_with_their_sums(plant, tmp_path):
    rows = tables(
        *(
            generation(1, 1000, 2000, 2100 + number, None, group_id=f"billing-{number}")
            for number in range(3)
        ),
        generation(1, 1000, 1500, 1600, None, group_id="other"),
        timeline=events(1000, 60_000),
    )
    with served(plant(tmp_path, rows)) as server:
        fold, other = objects(server.ask("groups", fold="true")["listed"])
        inside = server.ask("groups", of_fold=fold["key"], sort="group_id", ascending="true")

    assert (fold["group_id"], fold["size"], fold["rebalances"]) == ("billing-*", 3, 3)
    assert (fold["not_stable_ms"], fold["longest_ms"], fold["p50_ms"]) == (3303, 1102, 1101)
    assert (other["group_id"], other["size"]) == ("other", 1)
    assert [row["group_id"] for row in objects(inside["listed"])] == [
        "billing-0",
        "billing-1",
        "billing-2",
    ]


def test_a_list_has_pages(server):
    pages = [server.ask("groups", sort="group_id", limit=1, offset=n)["listed"] for n in range(4)]

    assert [[row["group_id"] for row in objects(each)] for each in pages] == [
        ["billing-2"],
        ["billing-1"],
        [HOSTILE],
        [],
    ]


def test_a_timeline_is_that_of_the_report(server):
    answer = server.ask("timeline", group="billing-1")

    assert [row["generation"] for row in objects(answer["generations"])] == [1, 2]
    assert objects(answer["generations"])[1]["unowned_partition_ms"] == 2100
    assert sorted(lane["process"] for lane in answer["lanes"]) == ["a@host", "b@host"]
    assert answer["base_ms"] == 1000


def test_lists_have_all_rows_with_the_words(server):
    restarts = server.ask("episodes", search="restart billing-2")
    assert (restarts["count"], objects(restarts["listed"])[0]["from_ms"]) == (1, 1000)
    assert server.ask("findings", search="kafka")["count"] == 1
    assert server.ask("findings", search="kafka", to="1970-01-01T00:00:04")["count"] == 0
    assert server.ask("advice") == {"count": None, "run": "regroup what-if-sweep"}


def test_two_groups_or_two_times_are_compared(server):
    groups = server.ask("compare", group="billing-1", other_group="billing-2")
    times = server.ask("compare", to="1970-01-01T00:00:10", other_from="1970-01-01T00:00:20")

    assert [groups[side]["totals"]["rebalances"] for side in ("one", "other")] == [2, 1]
    assert [groups[side]["totals"]["unowned_partition_ms"] for side in ("one", "other")] == [
        2100,
        0,
    ]
    assert groups["one"]["kinds"][0]["kind"] == "restart"
    assert groups["other"]["causes"] == [
        {"cause": "MEMBER_NEW", "story": "start", "generations": 1}
    ]
    assert [times[side]["totals"]["unowned_partition_ms"] for side in ("one", "other")] == [0, 2100]
    assert times["one"]["totals"]["rebalances"] == 3


def test_a_comparison_counts_each_partition_within_its_time(plant, tmp_path):
    """Three partitions without an owner for 2 s, of which the first side has 1 s."""
    rows = tables(
        generation(1, 1000, 2000, 2100, 20_000),
        generation(2, 20_000, 22_000, 22_100, None),
        ownership_gaps=gaps(2, 20_000, 22_000, (0, 1, 2), 1),
        timeline=events(1000, 60_000),
    )
    with served(plant(tmp_path, rows)) as server:
        of_group = server.ask("compare", group="g", to="1970-01-01T00:00:21")
        refused = server.refused("compare", group="none")

    downtimes = [of_group[side]["totals"]["unowned_partition_ms"] for side in ("one", "other")]
    assert downtimes == [3000, 6000]
    assert refused == "--group none: no generations in cluster c"


def test_figures_of_a_group_are_those_of_its_row(server):
    """The comparison and the list of groups read different tables."""
    (row,) = objects(server.ask("groups", group="billing-1")["listed"])
    totals = server.ask("compare", group="billing-1")["one"]["totals"]

    names = ("rebalances", "not_stable_ms", "longest_ms", "unowned_partition_ms")
    assert [totals[name] for name in names] == [row[name] for name in names]
    assert totals["not_stable_ms"] == 5200


@pytest.mark.parametrize(
    ("view", "parameters", "message"),
    [
        ("timeline", {"group": "none"}, "--group none: no generations in cluster c"),
        ("timeline", {}, "group: give a value"),
        ("overview", {"cluster": "x"}, "--cluster-id x: "),
        ("groups", {"sort": "1; DROP TABLE x"}, "sort 1; DROP TABLE x: give one of group_id, "),
        ("groups", {"limit": "-1"}, "limit -1: give a whole number"),
        ("groups", {"fold": "yes"}, "fold yes: give true or false"),
        ("groups", {"colour": "red"}, "colour: no such parameter; give cluster, search, "),
        ("groups", {"search": ["a", "b"]}, "search: given more than once"),
        ("groups", {"search": "x" * 20_001}, "search: longer than 20,000 characters"),
    ],
)
def test_a_wrong_request_gets_one_line(server, view, parameters, message):
    assert server.refused(view, **parameters).startswith(message)


def test_sql_answers_with_types_and_at_most_so_many_rows(server):
    answer = server.ask("sql", query="SELECT range AS n, NULL AS nothing FROM range(1001)")

    assert (answer["columns"], answer["types"][0]) == (["n", "nothing"], "BIGINT")
    assert (len(answer["rows"]), answer["is_cut"]) == (1000, True)
    assert server.ask("sql", query="SELECT COUNT(*) FROM generations")["rows"] == [[4]]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DROP TABLE generations", "DROP: only statements that read are allowed"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT * FROM read_text('/etc/passwd')", "/etc/passwd: only tables of the lake"),
        ("SELECT * FROM read_csv('../../etc/passwd')", "../../etc/passwd: only tables of the lake"),
        ("COPY (SELECT 1) TO 'x.csv'", "COPY: needs `regroup sql --allow-files`; give"),
        ("SELECT * FROM glob('/*')", "/*: only tables of the lake"),
        ("ATTACH 'x.db'", "ATTACH: only statements that read are allowed"),
    ],
)
def test_sql_only_reads_the_lake(server, statement, message):
    assert server.refused("sql", query=statement).startswith(message)


@pytest.mark.parametrize(
    ("statement", "seconds", "message"),
    [
        (ENDLESS, 3, "stopped after 3 s; select fewer rows"),
        (
            "SELECT repeat('x', 1000) FROM range(200)",
            60,
            "the response has 201,283 bytes, the limit is 100,000; select fewer rows or "
            "shorter texts",
        ),
        (
            "SELECT repeat('x', 2000000) FROM range(2048)",
            60,
            "the statement needs more memory than is allowed; select fewer rows or shorter texts",
        ),
    ],
    ids=["time", "bytes", "memory"],
)
def test_a_statement_beyond_a_limit_is_refused_and_the_next_one_is_answered(
    plant, tmp_path, statement, seconds, message
):
    limits = Limits(1000, seconds, 100_000)
    with served(plant(tmp_path, three_groups()), limits=limits) as server:
        assert server.refused("sql", query=statement) == message
        assert server.ask("sql", query="SELECT 1 AS one")["rows"] == [[1]]


def test_statements_are_answered_on_a_machine_with_many_processors(server, monkeypatch):
    # DuckDB takes this value as the number of processors.
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "64")
    monkeypatch.setenv("TOKIO_WORKER_THREADS", "64")

    answer = Statements(server.lake.root).rows("SELECT COUNT(*) FROM generations")

    assert answer["rows"] == [[4]]


def test_a_server_that_ends_during_a_statement_leaves_no_traceback(server, capfd):
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(there,))
    process.start()
    there.close()
    here.send((server.lake.root, 1, ENDLESS, Limits(seconds=1)))
    here.close()
    process.join()

    assert (process.exitcode, capfd.readouterr().err) == (0, "")


def test_the_description_has_every_view(server):
    _, _, text = server.get("/openapi.json")
    paths = json.loads(text)["paths"]

    assert {"/api/overview", "/api/groups", "/api/timeline", "/api/sql", "/export"} <= set(paths)
    (group,) = [
        each for each in paths["/api/timeline"]["get"]["parameters"] if each["name"] == "group"
    ]
    assert (group["in"], group["required"], group["schema"]) == ("query", True, {"type": "string"})


def test_the_page_has_no_data_and_a_strict_policy(server):
    status, headers, text = server.get("/")

    assert status == 200
    assert "billing-1" not in text
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")


def test_an_exported_file_has_its_groups_and_needs_no_server(server):
    _, headers, text = server.get("/export?search=billing")
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])

    assert headers["Content-Disposition"] == 'attachment; filename="rebalances.html"'
    assert [each["group"] for each in data["timelines"]] == ["billing-1", "billing-2"]
    assert data["totals"]["groups"] == 2
    assert "served" not in data
    assert "<script>alert" not in text


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80", ""]
)
def test_without_a_token_the_name_must_be_that_of_this_machine(server, host):
    """A page of another site, whose name resolves to 127.0.0.1, reads nothing."""
    assert server.get("/api/status", Host=host)[0] == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8787", "[::1]:1", "LOCALHOST:8787"])
def test_names_of_this_machine_are_served(server, host):
    assert server.get("/api/status", Host=host)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_written(server, method):
    assert server.get("/api/groups", method)[0] == 405


@pytest.mark.parametrize("path", ["/../etc/passwd", "/static/../../x", "/%2e%2e/x", "/api/../x"])
def test_there_are_no_files_to_get(server, path):
    assert server.get(path)[0] == 404


def test_with_a_token_nobody_reads_without_it(plant, tmp_path):
    def basic(password):
        return f"Basic {base64.b64encode(f'me:{password}'.encode()).decode()}"

    with served(plant(tmp_path, three_groups()), TOKEN) as server:
        status, headers, text = server.get("/")
        answers = [
            server.get("/api/status", Authorization=value)[0]
            for value in (
                f"Bearer {TOKEN}", basic(TOKEN), f"Bearer {TOKEN}x", basic("x"), "Basic é",
                "Bearer", TOKEN,
            )
        ]  # fmt: skip
        elsewhere = server.get("/api/status", Host="lake.example", Authorization=basic(TOKEN))[0]
        health = server.get(HEALTH, Host="10.0.0.7:8787")

    assert (status, text) == (401, "Give the token.\n")
    assert headers["WWW-Authenticate"].startswith("Basic ")
    assert answers == [200, 200, 401, 401, 401, 401, 401]
    assert elsewhere == 200
    assert (health[0], json.loads(health[2])) == (200, {"status": "ok"})


def test_new_commits_are_seen_and_an_answer_is_of_one_version(plant, tmp_path):
    count = "SELECT COUNT(*) FROM generations"
    with served(plant(tmp_path, three_groups())) as server:
        before = server.ask("overview")
        counts = [server.ask("sql", query=count)["rows"]]
        plant(tmp_path / "next", tables(generation(1, 1000, 2000, 2100, None, group_id="new")))
        rows = DeltaTable(tmp_path / "next" / "generations").to_pyarrow_table()
        write_deltalake(tmp_path / "generations", rows, mode="append")
        unseen = server.ask("overview")
        counts.append(server.ask("sql", query=count)["rows"])
        is_new = server.lake.refresh()
        after = server.ask("overview")
        counts.append(server.ask("sql", query=count)["rows"])

    assert before == unseen
    assert counts == [[[4]], [[4]], [[5]]]
    assert (is_new, after["version"], after["totals"]["groups"]) == (True, 2, 4)


def test_a_client_that_sends_half_a_request_is_cut_off(server, monkeypatch):
    from jobs.report.serve import slow_clients

    monkeypatch.setattr(slow_clients, "REQUEST_S", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: local")
        slow.settimeout(10)
        try:
            rest = slow.recv(1)
        except ConnectionResetError:
            rest = b""

    assert rest == b""


def regroup(*arguments, **more):
    command = [sys.executable, "-m", "jobs.command_line.cli", "serve", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **more)


def test_ctrl_c_ends_the_server_with_one_line(plant, tmp_path):
    lake = plant(tmp_path, three_groups())
    process = regroup("--lake", lake, "--port", "0")
    first = process.stderr.readline()
    assert first.startswith("http://127.0.0.1:")
    # After the first answer, the server handles SIGINT instead of Python.
    urlopen(first.split(" ")[0], timeout=60).close()

    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()

    assert (rest, process.wait()) == ("regroup: interrupted\n", 130)


def test_a_port_is_taken_as_soon_as_a_server_starts(tmp_path):
    from jobs.report.serve.command import ServeOptions, _listening

    with _listening(ServeOptions(lake=str(tmp_path), port=0)) as first:
        port = first.getsockname()[1]
        with pytest.raises(UsageError, match=f"--port {port}: Address already in use; give"):
            _listening(ServeOptions(lake=str(tmp_path), port=port))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "--host 0.0.0.0: others may connect, so a token is needed"),
        (["--key", "x"], "give both --certificate and --key, or none"),
        (["--certificate", "x", "--key", "y"], "--certificate x, --key y: No such file"),
        (["--every", "often"], "--every often: not a duration"),
        (["--token-file", "nowhere"], "--token-file nowhere: No such file"),
        (["--lake", "nowhere"], "--lake nowhere: no such folder"),
        (["--port", "{used}"], "--port {used}: Address already in use; give another --port"),
    ],
)
def test_wrong_options_are_one_line_and_exit_2(
    plant, tmp_path, capsys, monkeypatch, options, message
):
    from jobs.command_line import cli

    with socket.create_server(("127.0.0.1", 0)) as listening:
        used = str(listening.getsockname()[1])
        chosen = [each.format(used=used) for each in options]
        arguments = ["regroup", "serve", "--lake", str(tmp_path), "--port", "0", *chosen]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as ended:
            cli.main()

    error = capsys.readouterr().err
    assert error.startswith(f"regroup: {message.format(used=used)}")
    assert (error.count("\n"), ended.value.code) == (1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_each_view_without_errors(chromium, server, width):
    base = f"http://localhost:{server.port}/?width={width}"
    rows = "document.querySelectorAll('{} tbody tr').length === {}"
    views = [
        ("", rows.format("#groups", 3)),
        ("#group=billing-1", rows.format("#rebalances", 2)),
        ("#view=findings", "document.querySelectorAll('#list > li').length === 1"),
        (
            "#view=compare&group=billing-1&other_group=billing-2",
            "document.querySelectorAll('#compared tr').length > 10",
        ),
        ("#view=sql&query=SELECT 1 AS n", rows.format("#sql-rows", 1)),
        (
            "#view=advice",
            "document.getElementById('list-note')?.textContent.includes('what-if-sweep')",
        ),
    ]
    for number, (address, is_shown) in enumerate(views):
        tab = chromium.open_address(f"{base}&n={number}{address}", width=width)
        tab.until(is_shown)

        elsewhere = [e for e in tab.errors() if f"localhost:{server.port}/" not in str(e)]
        assert elsewhere == []
        assert tab.run("document.documentElement.scrollWidth <= innerWidth")
        sections = tab.run("document.querySelectorAll('main > section:not([hidden])').length")
        assert sections == (1 if address else 2)  # The sections are the overview and its tables.


@pytest.mark.slow
def test_favourites_stay_in_the_browser(chromium, server):
    tab = chromium.open_address(f"http://localhost:{server.port}/")
    tab.until("document.querySelectorAll('#groups tbody tr').length === 3")
    tab.run("document.querySelector('#groups .star').click()")
    first = tab.run("document.querySelector('#groups .name').textContent")

    again = chromium.open_address(f"http://localhost:{server.port}/?again")
    again.until("document.querySelectorAll('#groups tbody tr').length === 3")
    again.run("document.getElementById('favourites').click()")
    again.until("document.querySelectorAll('#groups tbody tr').length === 1")

    assert again.run("document.querySelector('#groups .name').textContent") == first
