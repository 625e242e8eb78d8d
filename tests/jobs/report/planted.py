"""Rows of lakes for the tests of reports."""

HOSTILE = (
    '</script><script>document.title="taken"</script><img src=x onerror="alert(1)">&amp;\u202e'
)


def generation(number, begin, joined, stable, end, *, group_id="g", protocol="range", **more):
    """Rows of a generation for generations, rebalance_latency and churn; times in ms."""
    place = {"group_id": group_id, "generation": number}
    outcome = more.pop("outcome", "stable")
    times = {"preparing_time": begin, "joined_time": joined, "stable_time": stable}
    done = next(each for each in (stable, end, joined) if each is not None)
    if outcome == "empty":
        done = joined
    cause = {name: more.pop(name, None) for name in ("cause", "culprit_client_id")}
    return {
        "generations": place | times | cause | more
        | {"ended_time": end, "protocol": protocol, "outcome": outcome},
        "rebalance_latency": place
        | {"preparing_time": begin, "to_time": done, "outcome": outcome, "cause": cause["cause"]}
        | {"join_ms": joined - begin, "sync_ms": done - joined, "total_ms": done - begin}
        | {"logical_rebalance": number},
        "churn": place,
    }  # fmt: skip


def tables(*generations, **more):
    """The tables of these generations; ``more``: rows of other tables."""
    rows = {name: [each[name] for each in generations] for name in generations[0]}
    return rows | more


def member(number, client_id, partitions=(), *, group_id="g", member_id=None, **more):
    """The row of a member, and the rows of its partitions of topic t."""
    member_id = member_id or f"{client_id}-id"
    place = {"group_id": group_id, "generation": number, "member_id": member_id}
    process = more.pop("process", f"{client_id}@host")
    row = place | {"process": process, "client_id": client_id, "client_host": "/host"} | more
    assigned = [
        place | {"process": process, "topic": "t", "partition": partition}
        for partition in partitions
    ]
    return row, assigned


def members(*rows_of_members):
    return {
        "generation_members": [row for row, _ in rows_of_members],
        "assignments": [row for _, assigned in rows_of_members for row in assigned],
    }


def cause(number, at, client_id, cause_class, story=None, *, group_id="g", seq=1, **more):
    member_fields = {"member_id": f"{client_id}-id", "client_id": client_id, "client_host": "/host"}
    cause_fields = {"cause": cause_class, "story": story, "event_time": at, "cause_seq": seq}
    return {"group_id": group_id, "generation": number} | member_fields | cause_fields | more


def gaps(number, from_ms, to_ms, partitions, from_generation, group_id="g"):
    """Rows of ownership_gaps that generation ``number`` ended."""
    return [
        {
            "group_id": group_id, "generation": number, "partition": partition,
            "from_time": from_ms, "to_time": to_ms, "unowned_ms": to_ms - from_ms,
            "from_process": "a@host", "to_process": "a@host", "from_generation": from_generation,
            "why": "rebalance", "estimated": True,
        }
        for partition in partitions
    ]  # fmt: skip


def events(*times, group_id="g"):
    return [{"group_id": group_id, "seq": seq, "event_time": at} for seq, at in enumerate(times)]


def thousand(group_id="flapping"):
    """1,000 generations of 20 members with 40 partitions; one member restarts each time."""
    generations, people, causes, unowned = [], [], [], []
    for number in range(1, 1001):
        begin = number * 60_000
        flapping = f"app-{number % 20}"
        generations.append(
            generation(
                number, begin, begin + 2900, begin + 3000, begin + 60_000,
                group_id=group_id, cause="LEAVE", culprit_client_id=flapping, member_count=20,
            )
        )  # fmt: skip
        causes.append(cause(number, begin, flapping, "LEAVE", "restart", group_id=group_id))
        unowned += gaps(number, begin, begin + 3000, range(40), number - 1, group_id=group_id)
        for place in range(20):
            first = (place + number) % 20 * 2
            owned = (first, first + 1)
            people.append(member(number, f"app-{place}", owned, group_id=group_id))
    return tables(
        *generations,
        **members(*people),
        rebalance_causes=causes,
        ownership_gaps=unowned,
        timeline=events(60_000, 1001 * 60_000, group_id=group_id),
    )


def episode(number, kind, from_ms, to_ms, *, group_id="g", processes=("a",), **more):
    """A row of episodes: one rebalance, 4 s of partition downtime."""
    return {
        "group_id": group_id, "activity_time": 0, "episode": number, "kind": kind,
        "from_time": from_ms, "to_time": to_ms, "processes": list(processes), "hosts": ["/host"],
        "first_generation": 1, "last_generation": 1, "generations": [1], "rebalances": 1,
        "not_stable_ms": 2000, "unowned_partition_ms": 4000, "partitions_moved": 2,
        "summary": f"{kind} of {group_id}: 1 rebalance", "evidence": "log", "confidence": 0.9,
        "activity_last_generation": 1,
    } | more  # fmt: skip


def finding(name, from_ms, **more):
    """A row of findings that lasts a second."""
    return {
        "finding": name, "kind": "operation", "from_time": from_ms, "to_time": from_ms + 1000,
        "confidence": 0.8, "summary": "a finding", "remedy": "Look.",
        "reference": "https://example.org",
    } | more  # fmt: skip


def advised(group_id, sentence, **more):
    """A row of advice that makes the members static."""
    return {
        "group_id": group_id, "setting": "membership=static", "sentence": sentence,
        "saved_unowned_partition_ms": 9000, "saved_not_stable_ms": 1000,
        "saved_rebalances": 1, "share_saved": 0.5, "confidence": 0.75,
    } | more  # fmt: skip


def advice_outcome(group_id, verdict, **more):
    """A row of advice_outcomes: static membership, compared in one deployment on each side."""
    sides = {f"{side}{end}": 35_000 for side in ("before", "after") for end in ("", "_min", "_max")}
    figure = {"figure": "unavailable_partition_ms", "predicted": 24_000, "low": 18_000}
    of_figure = figure | sides | {"high": 30_000, "promised": True, "verdict": "worse"}
    return {
        "group_id": group_id, "setting": "membership=static", "settings": "group.instance.id",
        "first_advised_time": 2000, "advised_time": 3000, "sentence": "make it static",
        "kind": "rolling_deployment", "processes": 6, "carried_out": "yes",
        "evidence": "all 6 members", "carried_out_from_time": 4000, "carried_out_time": 5000,
        "deployments_before": 1, "deployments_after": 1, "figures": [of_figure],
        "interval_basis": "the range", "verdict": verdict, "reason": "as measured",
    } | more  # fmt: skip
