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
        | {"preparing_time": begin, "end_time": done, "outcome": outcome, "cause": cause["cause"]}
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


def events(*times, group_id="g"):
    return [{"group_id": group_id, "seq": seq, "event_time": at} for seq, at in enumerate(times)]


def thousand(group_id="flapping"):
    """1,000 generations of 20 members with 40 partitions; one member restarts each time."""
    generations, people, causes = [], [], []
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
        for place in range(20):
            first = (place + number) % 20 * 2
            owned = (first, first + 1)
            people.append(member(number, f"app-{place}", owned, group_id=group_id))
    return tables(
        *generations,
        **members(*people),
        rebalance_causes=causes,
        timeline=events(60_000, 1001 * 60_000, group_id=group_id),
    )
