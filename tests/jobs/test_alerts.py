"""Alerts: when each check raises one, thresholds, and Prometheus' text format."""

import json
import shutil
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from jobs.alerts import command, prometheus
from jobs.alerts.alerting import AlertsOptions, AlertWindow, _start_of, find_alerts
from jobs.alerts.checks import CHECKS, Alert
from jobs.configuration.alert_settings import AlertSettings, Thresholds, read_settings, span_s
from jobs.configuration.config import load_config
from jobs.configuration.webhooks import Webhook
from jobs.console.errors import UsageError
from jobs.console.printing import Format
from tests.jobs.test_views import handover

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)


def ms(seconds):
    """Seconds after noon as ms since the epoch, like the tables' times."""
    return NOON_MS + round(seconds * 1000)


def at(seconds):
    return datetime.fromtimestamp(ms(seconds) / 1000, UTC).replace(tzinfo=None)


@pytest.fixture(scope="module")
def plant(write_lake, tmp_path_factory):
    """``plant(rebalances, ends=S, **tables)``: a lake that ends S seconds after noon.

    ``rebalances``: (group, generation, began s, joined s, stable s), None if not logged; a dict at
    the end has more columns of generations and rebalance_latency.
    """

    def write(rebalances=(), ends=3600, **tables):
        generations, latency = [], []
        for group, generation, began, joined, stable, *more in rebalances:
            own = more[0] if more else {}
            times = {"preparing_time": began, "joined_time": joined, "stable_time": stable}
            place = {"group_id": group, "generation": generation, "cause": "LEAVE"} | own
            logged_times = {k: ms(v) for k, v in times.items() if v is not None}
            generations.append(place | logged_times)
            ended = stable if stable is not None else joined
            latency.append(
                place | ({"preparing_time": ms(began)} if began is not None else {})
                | ({"to_time": ms(ended)} if ended is not None else {})
            )  # fmt: skip
        last = {"group_id": "any", "seq": 1, "event_time": ms(ends), "event": "RECORD"}
        all_tables = {
            "generations": generations,
            "rebalance_latency": latency,
            "timeline": [last],
            "committed_offsets": [],
            "rebalance_causes": [],
            "generation_members": [],
            "churn": [],
            "episodes": [],
            "findings": [],
            "ownership_gaps": [],
        }
        return write_lake(tmp_path_factory.mktemp("lake"), all_tables | tables)

    return write


def raised(lake, since="1h", at=None, **thresholds):
    """(alert, group, process, first second, last second, value) of each alert."""
    all_off = dict.fromkeys(Thresholds.__dataclass_fields__, 0)
    settings = AlertSettings(thresholds=Thresholds(**(all_off | thresholds)))
    alerts, _ = find_alerts(AlertsOptions(lake, since=since, at=at), settings)
    return [
        (a.alert, a.group_id, a.process, *map(_second, (a.first_time, a.last_time)), a.value)
        for a in alerts
    ]


def _second(moment):
    return (moment.replace(tzinfo=UTC) - NOON).total_seconds()


STORM = {"storm_rebalances": 3, "storm_pause_s": 60}


@pytest.mark.parametrize(
    ("rebalances", "ends", "expected"),
    [
        # Three rebalances in a row have less than 60 s between the end of one and the start of the
        # next.
        ([(0, 10), (69, 80), (130, 140)], 150, [(0, 150, 3)]),
        # After a longer pause the storm has ended.
        ([(0, 10), (69, 80), (130, 140)], 600, [(0, 140, 3)]),
        # A pause of 60 s separates the rebalances.
        ([(0, 10), (70, 80), (130, 140)], 150, []),
        # Two rebalances are too few for a storm.
        ([(0, 10), (20, 30)], 40, []),
        # Two storms raise two alerts.
        ([(0, 1), (2, 3), (4, 5), (500, 501), (502, 503), (504, 505)], 506,
         [(0, 5, 3), (500, 506, 3)]),
        # The storm ended before the last hour began.
        ([(0, 1), (2, 3), (4, 5)], 3605, []),
        ([(0, 1), (2, 3), (4, 5)], 3604, [(0, 5, 3)]),
        # The storm began before the last hour.
        ([(0, 1), (2, 3), (4, 3650)], 3700, [(0, 3700, 3)]),
    ],
)  # fmt: skip
def test_rebalances_with_short_pauses_are_a_storm(plant, rebalances, ends, expected):
    rows = [("g", n, began, end, end) for n, (began, end) in enumerate(rebalances, start=1)]

    alerts = raised(plant(rows, ends), **STORM)

    assert alerts == [("storm", "g", None, *each) for each in expected]


def test_rebalances_of_different_groups_are_no_storm(plant):
    rows = [("a", 1, 0, 1, 1), ("b", 1, 2, 3, 3), ("a", 2, 4, 5, 5), ("b", 2, 6, 7, 7)]

    assert raised(plant(rows), **STORM) == []


def test_a_storm_is_known_from_records_without_a_log(plant):
    rows = [("g", n, None, n, n) for n in (1, 2, 3)]

    assert raised(plant(rows), **STORM) == [("storm", "g", None, 1, 3, 3)]


@pytest.mark.parametrize(
    ("rebalances", "ends", "expected"),
    [
        # The group has no later event.
        ([("g", 1, 0, None, None, {"outcome": "unknown"})], 300, [(0, 300, 300)]),
        ([("g", 1, 0, None, None, {"outcome": "unknown"})], 299.9, []),
        # The rebalance ended within the last hour.
        ([("g", 1, 0, 400, 401)], 500, [(0, 400, 400)]),
        ([("g", 1, 0, 400, 401)], 4000.5, []),
        # The leader sent no assignment.
        ([("g", 1, 0, 5, None, {"outcome": "unknown"})], 310, [(5, 310, 305)]),
        # An empty group waits for nothing.
        ([("g", 1, 0, 5, None, {"outcome": "empty"})], 900, []),
        # The next rebalance superseded this rebalance.
        ([("g", 1, 0, 5, None, {"outcome": "superseded"}), ("g", 2, 100, 101, 102)], 900, []),
        # The start of the rebalance is not logged.
        ([("g", 1, None, 5, 6)], 900, []),
    ],
    ids=lambda value: "" if isinstance(value, list) else str(value),
)
def test_a_long_phase_is_stuck(plant, rebalances, ends, expected):
    alerts = raised(plant(rebalances, ends), stuck_s=300)

    assert alerts == [("stuck", "g", None, *each) for each in expected]


def test_the_message_of_stuck_names_the_state(plant):
    lake = plant(
        [
            ("a", 1, 0, None, None, {"outcome": "unknown"}),
            ("b", 1, 0, 2, None, {"outcome": "unknown"}),
        ]
    )

    alerts, _ = find_alerts(AlertsOptions(lake), AlertSettings())

    assert [(a.group_id, a.message) for a in alerts] == [
        ("a", "in PreparingRebalance for 3600 s"),
        ("b", "in CompletingRebalance for 3598 s"),
    ]


# group type  since computed  message
@pytest.mark.parametrize(
    ("group_type", "joined", "message"),
    [
        ("consumer", None, "in Assigning for 3600 s"),
        ("streams", 2, "in Reconciling for 3598 s"),
        ("share", None, "in Stable without a target assignment for 3600 s"),
        ("share", 2, "in Stable with members behind the target for 3598 s"),
    ],
)
def test_a_group_of_a_new_type_is_stuck_in_its_own_states(plant, group_type, joined, message):
    row = {"group_id": "g", "generation": 1, "group_type": group_type, "outcome": "unknown"}
    times = {"preparing_time": ms(0)} | ({} if joined is None else {"joined_time": ms(joined)})
    lake = plant(generations=[row | times])

    alerts, _ = find_alerts(AlertsOptions(lake), AlertSettings())

    assert [alert.message for alert in alerts] == [message]


def gap(partition, since, until, why="revoked"):
    end = {} if until is None else {"to_time": ms(until)}
    place = {"group_id": "g", "topic": "t", "partition": partition, "from_time": ms(since)}
    owner = {"from_process": "a", "from_generation": 1, "why": why, "estimated": False}
    return place | owner | {"unowned_ms": 0, "evidence": "records"} | end


# Partitions without an owner: since, until (None if still unowned), why.  Expected: first, last,
# seconds.
@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ([(0, 300, "revoked")], [(0, 300, 300)]),
        ([(0, 299, "revoked")], []),
        ([(3000, None, "left"), (3100, None, "left")], [(3000, 3600, 600)]),
        ([(0, None, "not_assigned")], []),  # The topic was deleted.
    ],
)
def test_a_partition_without_an_owner_for_long_is_an_alert(plant, gaps, expected):
    rows = [gap(partition, *each) for partition, each in enumerate(gaps)]
    lake = plant([("g", 1, 0, 1, 2)], ownership_gaps=rows)

    assert raised(lake, unowned_s=300) == [("unowned", "g", None, *each) for each in expected]


@pytest.mark.parametrize(
    ("until", "more", "message"),
    [
        (300, {}, "for 300 s"),
        (300, {"unowned_ms_high": 1}, "for at least 300 s"),
        (None, {}, "for at least 3600 s"),
    ],
    ids=["known", "earlier by another reading", "not ended"],
)
def test_a_lower_bound_of_the_time_without_an_owner_is_called_so(plant, until, more, message):
    lake = plant([("g", 1, 0, 1, 2)], ownership_gaps=[gap(0, 0, until) | more])
    all_off = dict.fromkeys(Thresholds.__dataclass_fields__, 0)
    settings = AlertSettings(thresholds=Thresholds(**(all_off | {"unowned_s": 300})))

    (alert,), _ = find_alerts(AlertsOptions(lake, since="1h"), settings)

    assert alert.message.startswith(f"1 partition without an owner, the longest {message}")


def test_a_check_without_its_table_is_named_as_not_checked(plant):
    lake = plant([("g", 1, 0, 1, 2)])
    shutil.rmtree(Path(lake) / "ownership_gaps")

    alerts, windows = find_alerts(AlertsOptions(lake), AlertSettings())
    samples = families(prometheus.text(prometheus.alert_families(alerts, windows)))

    assert [window.unchecked for window in windows] == [("unowned",)]
    assert [labels["alert"] for labels, _ in samples["regroup_alerts"]] == [
        "storm", "stuck", "no_members", "flapping", "moved_nothing", "over_budget",
        "stuck_partition", "poison_pill", "finding", "slo",
    ]  # fmt: skip


def of_clients(ends):
    """No broker evidence; the last client's line is ``ends`` seconds after noon."""
    line = {"group_id": "g", "file_id": "f", "file": "f", "position": 0, "line": "l"}
    event = {"event": "STATE", "library": "java", "event_time": ms(ends)}
    return {"timeline": [], "client_events": [line | event]}


BY_CLIENTS = {"evidence": "clients", "cause": None}


def test_a_cluster_of_which_only_clients_logs_were_read(plant, capsys):
    """The last line of a client counts as now; what clients do not log is named."""
    rows = [("g", number, 10 * number, 10 * number + 1, 10 * number + 2) for number in range(1, 11)]
    lake = plant([(*row, BY_CLIENTS) for row in rows], **of_clients(ends=3600))

    alerts, windows = find_alerts(AlertsOptions(lake), AlertSettings())
    code = command.run(AlertsOptions(lake), AlertSettings(), None, Format.TABLE)

    assert [(a.alert, a.first_time, a.last_time, a.message) for a in alerts] == [
        ("storm", at(10), at(102), "10 rebalances in a row")
    ]
    assert windows == [
        AlertWindow("c", at(0), at(3600), ("unowned", "no_members", "moved_nothing"), True)
    ]
    assert code == 1
    assert capsys.readouterr().err == (
        "c, 2026-11-21 12:00:00 to 2026-11-21 13:00:00 UTC: 1 alert; not checked, as clients' logs"
        " alone do not show them: unowned, no_members, moved_nothing\n"
    )


def test_a_clients_line_after_the_brokers_last_event_ages_no_rebalance(plant):
    lake = plant(
        [("g", 1, 3500, None, None)], **{"client_events": of_clients(7200)["client_events"]}
    )

    [window] = find_alerts(AlertsOptions(lake), AlertSettings())[1]

    assert (window.now, window.is_of_clients) == (at(3600), False)


def test_a_consumer_group_by_clients_logs_is_not_stuck(plant):
    """Its clients do not log when all members had the target."""
    row = {"group_id": "g", "generation": 2, "group_type": "consumer", "joined_time": ms(100)}
    generations = [row | {"outcome": "unknown", "evidence": "clients"}]
    lake = plant(generations=generations, **of_clients(ends=3600))

    assert raised(lake, stuck_s=60) == []


def test_a_deleted_group_is_not_stuck(plant):
    died = {"outcome": "unknown", "ended_time": ms(100)}
    row = {"group_id": "g", "generation": 1, "preparing_time": ms(0)} | died
    lake = plant(generations=[row])

    assert raised(lake, stuck_s=300) == []


def cause(group, generation, second, member, story, cause="MEMBER_NEW", **more):
    return {
        "group_id": group,
        "generation": generation,
        "cause_seq": 1,
        "event_time": ms(second),
        "cause": cause,
        "member_id": member,
        "story": story,
    } | more


def test_a_stuck_rebalance_lasts_until_the_client_that_logged_it_left(plant):
    """The client does not know how long the rebalance goes on."""
    rebalances = [("g", 1, 10, 12, 13, BY_CLIENTS), ("g", 2, 100, None, None, BY_CLIENTS)]
    left = cause("g", 2, 500, "a-1", "slow_poll", "LEAVE_POLL_TIMEOUT", evidence="clients")
    lake = plant(rebalances, rebalance_causes=[left], **of_clients(ends=3600))

    assert raised(lake, stuck_s=300) == [("stuck", "g", None, 100, 500, 400)]


def member(group, generation, member_id, process):
    return {
        "group_id": group,
        "generation": generation,
        "member_id": member_id,
        "process": process,
    }


def test_a_process_that_rejoins_again_and_again_flaps(plant):
    """The process has a new member id each time; its first join does not count."""
    stories = [("start", "m0"), ("return", "m1"), ("return", "m2"), ("return", "m3")]
    lake = plant(
        [("g", n, n * 100, n * 100 + 1, n * 100 + 2) for n in (1, 2, 3, 4)],
        rebalance_causes=[
            cause("g", n, n * 100, who, story) for n, (story, who) in enumerate(stories, start=1)
        ],
        generation_members=[member("g", n + 1, f"m{n}", "app-1@10.0.0.1") for n in range(4)],
    )

    assert raised(lake, flaps=3) == [("flapping", "g", "app-1@10.0.0.1", 200, 400, 3)]
    assert raised(lake, flaps=4) == []


def test_a_rolling_restart_is_not_flapping(plant):
    """Six processes rejoin once each."""
    lake = plant(
        [("g", n, n, n, n) for n in range(1, 7)],
        rebalance_causes=[cause("g", n, n, f"m{n}", "return") for n in range(1, 7)],
        generation_members=[member("g", n, f"m{n}", f"app-{n}") for n in range(1, 7)],
    )

    assert raised(lake, flaps=2) == []


def test_two_processes_under_one_instance_id_flap_without_a_rebalance(plant):
    replaced = {"cause": "STATIC_REPLACED", "instance_id": "pod-1", "role": "absorbed"}
    lake = plant(
        [("g", 1, 0, 1, 2)],
        rebalance_causes=[
            cause("g", 1, n, f"m{n}", "takeover", **replaced) | {"cause_seq": n} for n in (1, 2, 3)
        ],
    )
    alerts, _ = find_alerts(AlertsOptions(lake), AlertSettings())

    assert [(a.process, a.value, a.message) for a in alerts] == [
        ("pod-1", 3, "rejoined 3 times, replacing a live member with the same instance id")
    ]


def test_static_members_that_return_without_a_rebalance_do_not_flap(plant):
    restarted = {"cause": "STATIC_REPLACED", "instance_id": "pod-1", "role": "absorbed"}
    lake = plant(
        [("g", 1, 0, 1, 2)],
        rebalance_causes=[
            cause("g", 1, n, f"m{n}", "restart", **restarted) | {"cause_seq": n} for n in (1, 2, 3)
        ],
    )

    assert raised(lake, flaps=1) == []


def episode(number, kind, began, ended, rebalances, processes=("a",), group="g"):
    return {
        "group_id": group,
        "incarnation": 1,
        "activity_time": ms(0),
        "episode": number,
        "kind": kind,
        "from_time": ms(began),
        "to_time": ms(ended),
        "processes": list(processes),
        "hosts": [],
        "first_generation": 1,
        "last_generation": 1,
        "generations": [],
        "rebalances": rebalances,
        "unowned_partition_ms": 0,
        "summary": kind,
        "evidence": "log",
        "confidence": 0.9,
        "activity_last_generation": 1,
    }


def emptied_by(kind, confidence=0.7):
    return episode(1, kind, 190, 201, 0) | {"generations": [2], "confidence": confidence}


# Events that emptied the group at 200 s; the time at which it was back (None if it was not).
# Expected: last second, seconds.
@pytest.mark.parametrize(
    ("emptied", "back", "expected"),
    [
        (emptied_by("process_lost"), None, [(3600, 3400)]),
        (emptied_by("coordinator_failover"), 287, [(287, 87)]),
        (emptied_by("host_lost"), 259, []),  # soon
        (emptied_by("shutdown", confidence=0.9), None, []),  # the members left
        # The members committed when they were closed.
        (emptied_by("shutdown", confidence=0.8), None, []),
        (emptied_by("shutdown", confidence=0.6), None, [(3600, 3400)]),  # of static members
        (emptied_by("whole_group_restart"), 287, []),
    ],
)
def test_a_group_whose_members_were_all_removed_is_an_alert(plant, emptied, back, expected):
    rebalances = [("g", 1, 0, 1, 2), ("g", 2, 199, 200, None, {"outcome": "empty"})]
    rebalances += [] if back is None else [("g", 3, back, back + 3, back + 3)]
    lake = plant(rebalances, episodes=[emptied])

    assert raised(lake, no_members_s=60) == [
        ("no_members", "g", None, 200, *each) for each in expected
    ]


def test_a_message_leads_with_the_episode_that_has_most_of_its_rebalances(plant):
    lake = plant(
        [("g", n, n * 10, n * 10 + 1, n * 10 + 2) for n in range(1, 6)],
        episodes=[
            episode(1, "before", 0, 9, 9),
            episode(2, "slow poll", 10, 30, 2),
            episode(3, "deployment", 31, 52, 3),
            episode(4, "another group", 10, 52, 9, group="h"),
        ],
    )
    settings = AlertSettings(thresholds=Thresholds(storm_rebalances=5))
    alerts, _ = find_alerts(AlertsOptions(lake), settings)

    assert [alert.message for alert in alerts if alert.alert == "storm"] == [
        "deployment; 5 rebalances in a row, mostly LEAVE"
    ]


@pytest.mark.parametrize(
    ("others", "text"),
    [
        ([], "3 rebalances in a row"),
        (["failed", "empty"], "5 generations in a row: 3 rebalances, 1 aborted, 1 empty"),
        (["unknown"], "4 generations in a row: 3 rebalances, 1 with unknown outcome"),
    ],
)  # fmt: skip
def test_the_message_of_a_storm_says_what_its_generations_count_as(plant, others, text):
    outcomes = enumerate(["stable"] * 3 + others, start=1)
    lake = plant([("g", n, n, n, n, {"outcome": each}) for n, each in outcomes])
    settings = AlertSettings(thresholds=Thresholds(storm_rebalances=3))
    alerts, _ = find_alerts(AlertsOptions(lake), settings)

    assert [each.message for each in alerts] == [f"{text}, mostly LEAVE"]


def test_a_superseded_target_is_among_the_rebalances_of_a_storm(plant):
    rows = [("g", n, n, n, n, {"outcome": "superseded"}) for n in (1, 2, 3)]
    targets = [
        {"group_id": "g", "generation": n, "group_type": "consumer", "outcome": "superseded"}
        for n in (1, 2, 3)
    ]
    settings = AlertSettings(thresholds=Thresholds(storm_rebalances=3, rebalances_per_day=2))
    alerts, _ = find_alerts(AlertsOptions(plant(rows, generations=targets)), settings)

    assert [(each.alert, each.value, each.message) for each in alerts] == [
        ("over_budget", 3, "3 rebalances in 24 hours, budget 2, mostly LEAVE"),
        ("storm", 3, "3 generations in a row: 3 rebalances (3 superseded targets), mostly LEAVE"),
    ]


def test_the_episode_of_a_message_has_its_costs(plant):
    lake = plant(
        [("g", n, n * 10, n * 10 + 1, n * 10 + 2) for n in range(1, 6)],
        episodes=[episode(1, "deployment", 10, 52, 5) | {"generations": [4]}],
        handover_costs=[handover(4, 7.0)],
        unserved_times=[],
    )
    settings = AlertSettings(thresholds=Thresholds(storm_rebalances=5))
    alerts, _ = find_alerts(AlertsOptions(lake), settings)

    assert [alert.message for alert in alerts if alert.alert == "storm"] == [
        "deployment, 7 records handled again; 5 rebalances in a row, mostly LEAVE"
    ]


def test_the_message_about_a_process_leads_with_its_own_episode(plant):
    stories = [("start", "m0"), ("return", "m1"), ("return", "m2"), ("return", "m3")]
    lake = plant(
        [("g", n, n * 100, n * 100 + 1, n * 100 + 2) for n in (1, 2, 3, 4)],
        rebalance_causes=[
            cause("g", n, n * 100, who, story) for n, (story, who) in enumerate(stories, start=1)
        ],
        generation_members=[member("g", n + 1, f"m{n}", "app-1@10.0.0.1") for n in range(4)],
        episodes=[
            episode(1, "deployment", 100, 402, 9, processes=["app-2"]),
            episode(2, "flapping", 100, 402, 3, processes=["app-1"]),
        ],
    )
    alerts, _ = find_alerts(AlertsOptions(lake), AlertSettings(thresholds=Thresholds(flaps=3)))

    assert [a.message for a in alerts if a.alert == "flapping"] == ["flapping; rejoined 3 times"]


def test_leaving_does_not_count_as_rejoining(plant):
    lake = plant(
        [("g", 1, 0, 1, 2)],
        rebalance_causes=[
            cause("g", 1, n, "m", story, cause="LEAVE") | {"cause_seq": n}
            for n, story in enumerate(["restart", "stop", "slow_poll", "session_expired"], start=1)
        ],
    )

    assert raised(lake, flaps=1) == []


def churned(group, generation, moved=0, orphaned=0, new=0):
    return {
        "group_id": group,
        "generation": generation,
        "partitions_moved": moved,
        "partitions_orphaned": orphaned,
        "partitions_new": new,
    }


def test_rebalances_that_change_no_owner(plant):
    """Moved, orphaned and new partitions change an owner; empty generations do not count."""
    lake = plant(
        [("g", n, n * 100, n * 100 + 1, n * 100 + 2) for n in range(1, 6)]
        + [("g", 6, 600, 601, None, {"outcome": "empty"})],
        churn=[
            churned("g", 1, new=3),
            churned("g", 2),
            churned("g", 3, moved=1),
            churned("g", 4),
            churned("g", 5, orphaned=1),
            churned("g", 6),
        ],
    )

    assert raised(lake, moved_nothing=2) == [("moved_nothing", "g", None, 200, 402, 2)]
    assert raised(lake, moved_nothing=3) == []


def test_more_rebalances_in_24_hours_than_the_budget(plant):
    rows = [("g", n, n * 600, n * 600 + 1, n * 600 + 2) for n in range(1, 5)]
    aborted = ("g", 5, 3000, 3001, None, {"outcome": "superseded"})
    lake = plant([*rows, aborted])

    assert raised(lake, rebalances_per_day=3) == [("over_budget", "g", None, 600, 2400, 4)]
    assert raised(lake, rebalances_per_day=4) == []


def finding(first, last=None, **more):
    times = {"from_time": ms(first)} | ({} if last is None else {"to_time": ms(last)})
    return {"group_id": "g", "incarnation": 1} | times | more


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([finding(10, 20)], [("finding", "g", None, 10, 20, 80)]),
        # The confidence is below the setting.
        ([finding(10, 20, confidence=0.594)], []),
        ([finding(10, 20, confidence=0.6)], [("finding", "g", None, 10, 20, 60)]),
        # it lasts
        ([finding(10)], [("finding", "g", None, 10, 3600, 80)]),
        # The finding ended when the last hour began.
        ([finding(-20, 0)], []),
        # of a broker
        (
            [finding(10, 20, group_id=None, incarnation=None, broker_id=3)],
            [("finding", "", "broker 3", 10, 20, 80)],
        ),
        # The finding of highest confidence of a group and process is chosen.
        (
            [finding(10, 20), finding(30, 40, confidence=0.9), finding(50, 60, process="p")],
            [("finding", "g", None, 30, 40, 90), ("finding", "g", "p", 50, 60, 80)],
        ),
        # Findings of this kind raise no alert.
        ([finding(10, 20, kind="evidence")], []),
    ],
)
def test_findings_are_alerts_from_a_confidence_on(plant, findings, expected):
    assert raised(plant(findings=findings), finding_percent=60) == expected


def of_partition(name, first, last, **more):
    return finding(first, last, finding=name, kind="data", topic_partition="t-1", **more)


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        (
            [of_partition("stuck_partition", 10, 70)],
            [("stuck_partition", "g", "t-1", 10, 70, 60)],
        ),
        ([of_partition("stuck_partition", 10, 69)], []),
        (
            [of_partition("stuck_partition", 10, 70), of_partition("poison_pill", 10, 40)],
            [
                ("poison_pill", "g", "t-1", 10, 40, 80),
                ("stuck_partition", "g", "t-1", 10, 70, 60),
            ],
        ),
        ([of_partition("poison_pill", 10, 40, confidence=0.59)], []),
        # The problem ended when the last hour began.
        ([of_partition("poison_pill", -40, 0)], []),
    ],
)
def test_partitions_without_progress_are_alerts(plant, findings, expected):
    lake = plant(findings=findings)

    assert raised(lake, stuck_partition_s=60, poison_pill_percent=60) == expected
    assert raised(lake, finding_percent=1) == []


def test_the_message_of_a_finding_has_its_name_and_how_many_there_are(plant):
    lake = plant(findings=[finding(10, 20), finding(30, 40, confidence=0.9, finding="KAFKA-1")])

    [alert], _ = find_alerts(AlertsOptions(lake), AlertSettings())

    assert alert.message == "KAFKA-1 (operation): a finding; 1 more; confidence 90 %"


def test_kinds_of_findings_are_chosen(plant):
    lake = plant(findings=[finding(10, 20)])
    settings = read_settings({"finding_kinds": ["broker_bug"]}, "conf")

    assert find_alerts(AlertsOptions(lake), settings)[0] == []
    with pytest.raises(UsageError, match="finding_kinds must be a list of broker_bug, client_bug"):
        read_settings({"finding_kinds": ["bugs"]}, "conf")


def test_the_budget_is_for_24_hours_whatever_the_window(plant):
    rows = [("g", 1, 0, 1, 2), ("g", 2, 10, 11, 12), ("g", 3, 86_400, 86_401, 86_402)]

    assert raised(plant(rows, ends=86_405), since="1m", rebalances_per_day=1) == [
        ("over_budget", "g", None, 10, 86_400, 2)
    ]


@pytest.mark.parametrize("second", [3, 3.5])
def test_events_after_the_given_time_do_not_count(plant, second):
    """Three in a row from second 8 on; at 3.5 s the second rebalance is in its join phase."""
    lake = plant([("g", 1, 0, 1, 2), ("g", 2, 3, 5, 6), ("g", 3, 7, 8, 9)])

    assert raised(lake, at=at(second).isoformat(), **STORM) == []
    assert raised(lake, at=at(8).isoformat(), **STORM) == [("storm", "g", None, 0, 8, 3)]


def test_a_time_in_another_zone(plant):
    lake = plant([("g", 1, 0, None, None, {"outcome": "unknown"})])

    alerts = raised(lake, at="2026-11-21T13:05:00+01:00", stuck_s=300)

    assert alerts == [("stuck", "g", None, 0, 300, 300)]


def test_now_is_each_clusters_last_time(plant):
    """The later one of the last event and the last commit."""
    lake = plant(
        timeline=[
            {"group_id": "g", "seq": 1, "event": "RECORD", "event_time": ms(10)},
            {"cluster_id": "d", "group_id": "g", "seq": 1, "event": "RECORD", "event_time": ms(20)},
        ],
        committed_offsets=[
            {"group_id": "g", "partition": 0, "log_offset": 1, "append_time": ms(30)}
        ],
    )

    _, windows = find_alerts(AlertsOptions(lake), AlertSettings())

    assert windows == [
        AlertWindow("c", at(30 - 3600), at(30)),
        AlertWindow("d", at(20 - 3600), at(20)),
    ]


def test_an_unknown_cluster(plant):
    with pytest.raises(UsageError, match="--cluster-id d: no such cluster; this lake has c"):
        find_alerts(AlertsOptions(plant(), cluster_id="d"), AlertSettings())


def test_a_lake_without_rows(plant):
    assert find_alerts(AlertsOptions(plant(timeline=[])), AlertSettings()) == ([], [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"since": "soon"}, "--since soon: not a duration; give 90s, 15m, 1h or 7d"),
        ({"since": "0h"}, "--since 0h: not a duration"),
        ({"at": "noon"}, "--at noon: expected a UTC time, e.g. 2026-11-21T00:46:00"),
    ],
)
def test_wrong_options(plant, options, message):
    with pytest.raises(UsageError) as error:
        find_alerts(AlertsOptions(plant(), **options), AlertSettings())

    assert message in str(error.value)


def test_a_groups_own_thresholds(plant):
    rows = [(group, n, n, n, n) for group in ("etl-1", "etl-2", "web") for n in range(1, 5)]
    settings = read_settings(
        {
            "rebalances_per_day": 3,
            "groups": {"etl-*": {"rebalances_per_day": 10}, "etl-2": {"rebalances_per_day": 2}},
        },
        "conf:",
    )

    alerts, _ = find_alerts(AlertsOptions(plant(rows)), settings)

    assert [(a.alert, a.group_id, a.threshold) for a in alerts] == [
        ("over_budget", "etl-2", 2),
        ("over_budget", "web", 3),
    ]


def test_thresholds_of_a_configuration(tmp_path):
    file = tmp_path / "conf.toml"
    file.write_text('[alerts]\nwindow = "15m"\nflaps = 9\n[alerts.groups."a*"]\nstuck_s = 7\n')

    settings = load_config(str(file)).alerts

    assert settings == AlertSettings(
        window="15m", thresholds=Thresholds(flaps=9), groups=(("a*", {"stuck_s": 7}),)
    )
    assert settings.of_group("abc") == Thresholds(flaps=9, stuck_s=7)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"flap": 1}, "[alerts] unknown setting 'flap'; did you mean flaps?"),
        ({"flaps": "3"}, "[alerts] flaps must be a whole number (0 turns it off), not '3'"),
        ({"flaps": -1}, "not -1"),
        ({"flaps": True}, "not True"),
        ({"window": 60}, '[alerts] window must be a text such as "1h", not 60'),
        ({"window": "long"}, "[alerts] window long: not a duration"),
        ({"groups": {"a": 1}}, '[alerts.groups."PATTERN"] must be a table of thresholds'),
        ({"groups": {"a": {"x": 1}}}, "[alerts.groups.'a'] unknown setting 'x'"),
    ],
)
def test_wrong_thresholds(table, message):
    with pytest.raises(UsageError) as error:
        read_settings(table, "conf:")

    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("1h", 3600), ("7d", 604800), (" 2 h", 7200)]
)
def test_spans(text, seconds):
    assert span_s(text, "--since") == seconds


HOSTILE = 'a"b\\c\nd\x1b[31m}# HELP x y'
ALERT = Alert(
    alert="storm",
    cluster_id="prod",
    group_id=HOSTILE,
    process=None,
    first_time=at(0),
    last_time=at(60),
    value=12,
    threshold=10,
    unit="generations",
    message="12 rebalances in a row",
)
WINDOW = AlertWindow("prod", at(-3600), at(60))


def families(text):
    return {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in text_string_to_metric_families(text)
    }


def test_prometheus_own_parser_reads_what_was_written():
    labels = {
        "alert": "storm",
        "cluster_id": "prod",
        "group_id": 'a"b\\c\\nd\\x1b[31m}# HELP x y',
        "process": "",
    }

    samples = families(prometheus.text(prometheus.alert_families([ALERT], [WINDOW])))

    assert samples["regroup_alert"] == [(labels, 1)]
    assert samples["regroup_alert_value"] == [(labels, 12)]
    assert samples["regroup_alerts_lake_time_seconds"] == [
        ({"cluster_id": "prod"}, NOON.timestamp() + 60)
    ]
    assert samples["regroup_alerts"] == [
        ({"alert": check.name, "cluster_id": "prod"}, float(check.name == "storm"))
        for check in CHECKS
    ]


def test_prometheus_file_in_full():
    alert = ALERT._replace(group_id="billing", process="app-1")

    assert prometheus.text(prometheus.alert_families([alert], [WINDOW])) == (
        "# HELP regroup_alert 1 for each alert that is raised.\n"
        "# TYPE regroup_alert gauge\n"
        'regroup_alert{alert="storm",cluster_id="prod",group_id="billing",process="app-1"} 1\n'
        "# HELP regroup_alert_value Value of an alert: a count; seconds for stuck, unowned,"
        " no_members and stuck_partition, percent for finding, poison_pill and slo.\n"
        "# TYPE regroup_alert_value gauge\n"
        'regroup_alert_value{alert="storm",cluster_id="prod",group_id="billing",'
        'process="app-1"} 12\n'
        "# HELP regroup_alerts Raised alerts per check; 0 without alerts.\n"
        "# TYPE regroup_alerts gauge\n"
        'regroup_alerts{alert="storm",cluster_id="prod"} 1\n'
        'regroup_alerts{alert="stuck",cluster_id="prod"} 0\n'
        'regroup_alerts{alert="unowned",cluster_id="prod"} 0\n'
        'regroup_alerts{alert="no_members",cluster_id="prod"} 0\n'
        'regroup_alerts{alert="flapping",cluster_id="prod"} 0\n'
        'regroup_alerts{alert="moved_nothing",cluster_id="prod"} 0\n'
        'regroup_alerts{alert="over_budget",cluster_id="prod"} 0\n'
        'regroup_alerts{alert="stuck_partition",cluster_id="prod"} 0\n'
        'regroup_alerts{alert="poison_pill",cluster_id="prod"} 0\n'
        'regroup_alerts{alert="finding",cluster_id="prod"} 0\n'
        'regroup_alerts{alert="slo",cluster_id="prod"} 0\n'
        "# HELP regroup_alerts_lake_time_seconds Time that counts as now: the last time in "
        "the lake, or --at.\n"
        "# TYPE regroup_alerts_lake_time_seconds gauge\n"
        'regroup_alerts_lake_time_seconds{cluster_id="prod"} 1795262460\n'
    )


def test_two_storms_of_a_group_are_one_sample():
    later = ALERT._replace(value=20)

    samples = families(prometheus.text(prometheus.alert_families([ALERT, later], [WINDOW])))

    assert [value for _, value in samples["regroup_alert_value"]] == [20]


def test_the_file_is_replaced_in_one_step(tmp_path):
    file = tmp_path / "regroup.prom"
    file.write_text("old")
    with open(file) as read_meanwhile:
        prometheus.write(str(file), prometheus.alert_families([ALERT], [WINDOW]))

        assert read_meanwhile.read() == "old"
    assert "regroup_alert{" in file.read_text()
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(UsageError, match=r"--prometheus .*/none/x\.prom: No such file"):
        prometheus.write(f"{tmp_path}/none/x.prom", [])


def test_alerts_are_exit_1(plant, regroup, tmp_path):
    lake = plant([("g", n, n, n, n) for n in range(1, 11)])
    file = tmp_path / "regroup.prom"

    code, out, err = regroup(
        "alerts", "--lake", lake, "--format", "json", "--prometheus", str(file)
    )

    assert code == 1
    assert json.loads(out) == [
        {
            "alert": "storm",
            "cluster_id": "c",
            "group_id": "g",
            "process": None,
            "first_time": "2026-11-21T12:00:01.000",
            "last_time": "2026-11-21T12:00:10.000",
            "value": 10,
            "threshold": 10,
            "unit": "generations",
            "message": "10 rebalances in a row, mostly LEAVE",
        }
    ]
    assert err == "c, 2026-11-21 12:00:00 to 2026-11-21 13:00:00 UTC: 1 alert\n"
    assert families(file.read_text())["regroup_alert"][0][0]["group_id"] == "g"


def test_no_alert_is_exit_0(plant, regroup):
    lake = plant([("g", 1, 0, 1, 2)])

    assert regroup("alerts", "--lake", lake) == (
        0,
        "",
        "c, 2026-11-21 12:00:00 to 2026-11-21 13:00:00 UTC: 0 alerts\n",
    )
    assert regroup("alerts", "--lake", lake, "--format", "json")[1] == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lake", "/nowhere"], "--lake /nowhere: no such folder"),
        ([], "Missing option '--lake'"),
        (["--lake", ".", "--since", "soon"], "--since soon: not a duration"),
        (["--lake", ".", "--conf", "/no.toml"], "--conf /no.toml: No such file"),
    ],
)
def test_wrong_arguments_are_exit_2(regroup, arguments, message):
    code, out, err = regroup("alerts", *arguments)

    assert (code, out) == (2, "")
    assert message in err


def test_the_documentation_names_every_threshold_and_its_default():
    text = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text(encoding="utf-8")

    for field in fields(Thresholds):
        assert f"`{field.name} = {field.default}`" in text
    for check in CHECKS:
        assert f"| `{check.name}` |" in text


def test_the_command_fails_while_a_message_waits(plant, tmp_path, monkeypatch, capsys):
    """Without an alert; the receiver does not answer."""
    monkeypatch.setattr("jobs.alerts.notify._PAUSES_S", ())
    lake = plant([("g", n, n, n, n) for n in (1, 2, 3)])
    webhook = Webhook(name="team", format="json", url="http://127.0.0.1:9")
    settings = AlertSettings(webhooks=(webhook,), outbox=str(tmp_path / "outbox.sqlite"))
    storm = replace(settings, thresholds=Thresholds(storm_rebalances=3))
    options = AlertsOptions(lake)

    assert command.run(options, storm, None, Format.TABLE, notifies=True) == 1
    assert command.run(options, settings, None, Format.TABLE, notifies=True) == 1
    assert "webhook team: 0 sent, 2 waiting: ConnectionRefusedError" in capsys.readouterr().err
    assert command.run(options, settings, None, Format.TABLE) == 0


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "0001-01-01T00:00+14:00"])
def test_a_time_that_no_lake_has_is_a_usage_error(text):
    for options in ({"at": text}, {"since": text}):
        with pytest.raises(UsageError, match=text[:10]):
            find_alerts(AlertsOptions("lake", **options), AlertSettings())


def test_a_window_ends_at_1970():
    assert _start_of("99999999999999d")(datetime(2026, 11, 28)) == datetime(1970, 1, 1)
