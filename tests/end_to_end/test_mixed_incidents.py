"""Two real incidents of one script: its restarts, crashes and slow polls are found, and no others.

What the script did (seconds after its start): billing-1 to billing-6 restarted one after the other
(40 on), inventory-pod-1 to -4 too (71 on), analytics-2 and audit-1 exceeded their
max.poll.interval.ms (90), billing-3, inventory-2 and reports-1 killed (122) and back (150),
analytics-5, -6 and reports-3 added (163), orders grown to 16 partitions (178), a second process
under inventory-pod-1 (195), billing-6, billing-5, analytics-6 and audit-2 stopped (207 on), then
all the others (225 on).
"""

import pytest

from jobs.checks.check import broken_laws

# group  generation  role  cause  story  member
ON_3_9 = """
analytics-cooperative   1  trigger      MEMBER_NEW       start                   analytics-1
analytics-cooperative   1  contributing MEMBER_NEW       start                   analytics-2
analytics-cooperative   1  contributing MEMBER_NEW       start                   analytics-3
analytics-cooperative   1  contributing MEMBER_NEW       start                   analytics-4
analytics-cooperative   2  trigger      LEAVE            slow_poll               analytics-2
analytics-cooperative   3  trigger      MEMBER_NEW       return                  analytics-2
analytics-cooperative   4  trigger      LEADER_REJOIN    follow_up               analytics-1
analytics-cooperative   5  trigger      MEMBER_NEW       start                   analytics-5
analytics-cooperative   5  contributing MEMBER_NEW       start                   analytics-6
analytics-cooperative   6  trigger      METADATA_CHANGE  follow_up               analytics-3
analytics-cooperative   7  trigger      LEAVE            stop                    analytics-6
analytics-cooperative   8  trigger      LEAVE            stop                    analytics-1
analytics-cooperative   8  contributing LEAVE            stop                    analytics-2
analytics-cooperative   8  contributing LEAVE            stop                    analytics-3
analytics-cooperative   8  contributing LEAVE            stop                    analytics-4
analytics-cooperative   8  contributing LEAVE            stop                    analytics-5

audit-python            1  trigger      MEMBER_NEW       start                   audit-1
audit-python            1  contributing MEMBER_NEW       start                   audit-2
audit-python            2  trigger      LEAVE            slow_poll               audit-1
audit-python            3  trigger      MEMBER_NEW       return                  audit-1
audit-python            4  trigger      LEAVE            stop                    audit-2
audit-python            5  trigger      LEADER_REJOIN    topic_change            audit-1
audit-python            6  trigger      LEAVE            stop                    audit-1
audit-python            6  absorbed     GROUP_DELETED    deleted                 None

billing-eager           1  trigger      MEMBER_NEW       start                   billing-2
billing-eager           1  contributing MEMBER_NEW       start                   billing-3
billing-eager           1  contributing MEMBER_NEW       start                   billing-1
billing-eager           1  contributing MEMBER_NEW       start                   billing-5
billing-eager           1  contributing MEMBER_NEW       start                   billing-4
billing-eager           1  contributing MEMBER_NEW       start                   billing-6
billing-eager           2  trigger      LEAVE            restart                 billing-1
billing-eager           3  trigger      MEMBER_NEW       return                  billing-1
billing-eager           4  trigger      LEAVE            restart                 billing-2
billing-eager           5  trigger      MEMBER_NEW       return                  billing-2
billing-eager           6  trigger      LEAVE            restart                 billing-3
billing-eager           7  trigger      MEMBER_NEW       return                  billing-3
billing-eager           7  contributing LEAVE            restart                 billing-4
billing-eager           8  trigger      MEMBER_NEW       return                  billing-4
billing-eager           9  trigger      LEAVE            restart                 billing-5
billing-eager          10  trigger      MEMBER_NEW       return                  billing-5
billing-eager          11  trigger      LEAVE            restart                 billing-6
billing-eager          12  trigger      MEMBER_NEW       return                  billing-6
billing-eager          13  trigger      SESSION_EXPIRY   session_expired         billing-3
billing-eager          14  trigger      MEMBER_NEW       return                  billing-3
billing-eager          15  trigger      LEAVE            stop                    billing-6
billing-eager          15  contributing LEAVE            stop                    billing-5
billing-eager          16  trigger      LEAVE            stop                    billing-1
billing-eager          16  contributing LEAVE            stop                    billing-2
billing-eager          16  contributing LEAVE            stop                    billing-3
billing-eager          16  contributing LEAVE            stop                    billing-4
billing-eager          16  absorbed     GROUP_DELETED    deleted                 None

inventory-static        1  trigger      MEMBER_NEW       start                   inventory-pod-1
inventory-static        1  contributing MEMBER_NEW       start                   inventory-pod-2
inventory-static        1  contributing MEMBER_NEW       start                   inventory-pod-3
inventory-static        1  contributing MEMBER_NEW       start                   inventory-pod-4
inventory-static        1  absorbed     STATIC_REPLACED  restart                 inventory-pod-1
inventory-static        1  absorbed     STATIC_REPLACED  restart                 inventory-pod-2
inventory-static        1  absorbed     STATIC_REPLACED  restart                 inventory-pod-3
inventory-static        1  absorbed     STATIC_REPLACED  restart                 inventory-pod-4
inventory-static        2  trigger      SESSION_EXPIRY   stop_or_session_expired inventory-pod-2
inventory-static        3  trigger      MEMBER_NEW       return                  inventory-pod-2
inventory-static        3  absorbed     STATIC_REPLACED  takeover                inventory-pod-1
inventory-static        4  trigger      SESSION_EXPIRY   stop_or_session_expired inventory-pod-1
inventory-static        5  trigger      SESSION_EXPIRY   stop_or_session_expired inventory-pod-2
inventory-static        5  contributing SESSION_EXPIRY   stop_or_session_expired inventory-pod-3
inventory-static        5  contributing SESSION_EXPIRY   stop_or_session_expired inventory-pod-4

reports-java            1  trigger      MEMBER_NEW       start                   reports-1
reports-java            2  trigger      MEMBER_NEW       start                   reports-2
reports-java            3  trigger      SESSION_EXPIRY   session_expired         reports-1
reports-java            4  trigger      MEMBER_NEW       return                  reports-1
reports-java            5  trigger      MEMBER_NEW       start                   reports-3
reports-java            6  trigger      LEAVE            stop                    reports-1
reports-java            7  trigger      LEAVE            stop                    reports-2
reports-java            7  contributing LEAVE            stop                    reports-3
"""
ON_4_1 = """
analytics-cooperative   1  trigger      MEMBER_NEW       start                   analytics-1
analytics-cooperative   1  contributing MEMBER_NEW       start                   analytics-2
analytics-cooperative   1  contributing MEMBER_NEW       start                   analytics-3
analytics-cooperative   1  contributing MEMBER_NEW       start                   analytics-4
analytics-cooperative   2  trigger      LEAVE            slow_poll               analytics-2
analytics-cooperative   3  trigger      MEMBER_NEW       return                  analytics-2
analytics-cooperative   4  trigger      METADATA_CHANGE  follow_up               analytics-4
analytics-cooperative   5  trigger      MEMBER_NEW       start                   analytics-5
analytics-cooperative   6  trigger      METADATA_CHANGE  follow_up               analytics-2
analytics-cooperative   6  contributing MEMBER_NEW       start                   analytics-6
analytics-cooperative   7  trigger      LEADER_REJOIN    follow_up               analytics-1
analytics-cooperative   8  trigger      LEAVE            stop                    analytics-6
analytics-cooperative   9  trigger      LEAVE            stop                    analytics-1
analytics-cooperative   9  contributing LEAVE            stop                    analytics-2
analytics-cooperative   9  contributing LEAVE            stop                    analytics-3
analytics-cooperative   9  contributing LEAVE            stop                    analytics-4
analytics-cooperative   9  contributing LEAVE            stop                    analytics-5

audit-python            1  trigger      MEMBER_NEW       start                   audit-2
audit-python            1  contributing MEMBER_NEW       start                   audit-1
audit-python            2  trigger      LEAVE            slow_poll               audit-1
audit-python            3  trigger      MEMBER_NEW       return                  audit-1
audit-python            4  trigger      LEAVE            stop                    audit-2
audit-python            5  trigger      LEADER_REJOIN    topic_change            audit-1
audit-python            6  trigger      LEAVE            stop                    audit-1
audit-python            6  absorbed     GROUP_DELETED    deleted                 None

billing-eager           1  trigger      MEMBER_NEW       start                   billing-3
billing-eager           1  contributing MEMBER_NEW       start                   billing-2
billing-eager           1  contributing MEMBER_NEW       start                   billing-1
billing-eager           1  contributing MEMBER_NEW       start                   billing-4
billing-eager           1  contributing MEMBER_NEW       start                   billing-5
billing-eager           1  contributing MEMBER_NEW       start                   billing-6
billing-eager           2  trigger      LEAVE            restart                 billing-1
billing-eager           3  trigger      MEMBER_NEW       return                  billing-1
billing-eager           4  trigger      LEAVE            restart                 billing-2
billing-eager           5  trigger      MEMBER_NEW       return                  billing-2
billing-eager           6  trigger      LEAVE            restart                 billing-3
billing-eager           7  trigger      MEMBER_NEW       return                  billing-3
billing-eager           7  contributing LEAVE            restart                 billing-4
billing-eager           8  trigger      MEMBER_NEW       return                  billing-4
billing-eager           9  trigger      LEAVE            restart                 billing-5
billing-eager          10  trigger      MEMBER_NEW       return                  billing-5
billing-eager          11  trigger      LEAVE            restart                 billing-6
billing-eager          12  trigger      MEMBER_NEW       return                  billing-6
billing-eager          13  trigger      SESSION_EXPIRY   session_expired         billing-3
billing-eager          14  trigger      MEMBER_NEW       return                  billing-3
billing-eager          15  trigger      LEAVE            stop                    billing-6
billing-eager          15  contributing LEAVE            stop                    billing-5
billing-eager          16  trigger      LEAVE            stop                    billing-1
billing-eager          16  contributing LEAVE            stop                    billing-2
billing-eager          17  trigger      LEAVE            stop                    billing-3
billing-eager          18  trigger      LEAVE            stop                    billing-4
billing-eager          18  absorbed     GROUP_DELETED    deleted                 None

inventory-static        1  trigger      MEMBER_NEW       start                   inventory-pod-1
inventory-static        1  contributing MEMBER_NEW       start                   inventory-pod-2
inventory-static        1  contributing MEMBER_NEW       start                   inventory-pod-3
inventory-static        1  contributing MEMBER_NEW       start                   inventory-pod-4
inventory-static        1  absorbed     STATIC_REPLACED  restart                 inventory-pod-1
inventory-static        1  absorbed     STATIC_REPLACED  restart                 inventory-pod-2
inventory-static        1  absorbed     STATIC_REPLACED  restart                 inventory-pod-3
inventory-static        1  absorbed     STATIC_REPLACED  restart                 inventory-pod-4
inventory-static        2  trigger      SESSION_EXPIRY   stop_or_session_expired inventory-pod-2
inventory-static        3  trigger      MEMBER_NEW       return                  inventory-pod-2
inventory-static        3  absorbed     STATIC_REPLACED  takeover                inventory-pod-1
inventory-static        4  trigger      SESSION_EXPIRY   stop_or_session_expired inventory-pod-1
inventory-static        5  trigger      SESSION_EXPIRY   stop_or_session_expired inventory-pod-2
inventory-static        5  contributing SESSION_EXPIRY   stop_or_session_expired inventory-pod-3
inventory-static        5  contributing SESSION_EXPIRY   stop_or_session_expired inventory-pod-4

reports-java            1  trigger      MEMBER_NEW       start                   reports-1
reports-java            2  trigger      MEMBER_NEW       start                   reports-2
reports-java            3  trigger      SESSION_EXPIRY   session_expired         reports-1
reports-java            4  trigger      MEMBER_NEW       return                  reports-1
reports-java            5  trigger      MEMBER_NEW       start                   reports-3
reports-java            6  trigger      LEAVE            stop                    reports-1
reports-java            6  contributing LEAVE            stop                    reports-2
reports-java            6  contributing LEAVE            stop                    reports-3
"""

STORY = """
    SELECT group_id, generation, role, cause, story, member FROM incident_story
    WHERE cluster_id = '{cluster}'
    ORDER BY group_id, incarnation, generation, cause_seq"""

INCIDENTS = [
    pytest.param("kafka-3.9", ON_3_9, id="3.9.1"),
    pytest.param("kafka-4.1", ON_4_1, id="4.1.2"),
]


@pytest.mark.parametrize(("cluster", "expected"), INCIDENTS)
def test_every_cause_is_found_and_none_invented(demo, cluster, expected):
    story = demo.rows(STORY.format(cluster=cluster))

    written = [tuple(line.split()) for line in expected.splitlines() if line]
    assert [tuple(map(str, row)) for row in story] == written


def test_the_lake_violates_no_law(demo):
    assert broken_laws(demo.root)[1] == []


@pytest.mark.parametrize(
    ("cluster", "who", "story", "times"),
    [
        # Only the six processes of the rolling restart were restarted.
        ("kafka-3.9", "billing-%", "restart", 6),
        ("kafka-4.1", "billing-%", "restart", 6),
        ("kafka-3.9", "%", "slow_poll", 2),
        ("kafka-4.1", "%", "slow_poll", 2),
        ("kafka-3.9", "%", "session_expired", 2),
        ("kafka-4.1", "%", "session_expired", 2),
        ("kafka-3.9", "%", "takeover", 1),
        ("kafka-4.1", "%", "takeover", 1),
    ],
)
def test_number_of_stories_per_process(demo, cluster, who, story, times):
    counts = demo.rows(
        "SELECT COUNT(*) FROM incident_story "
        f"WHERE cluster_id = '{cluster}' AND member LIKE '{who}' AND story = '{story}'"
    )

    assert counts == [(times,)]
