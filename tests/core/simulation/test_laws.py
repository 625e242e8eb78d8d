"""Properties of every simulation, tested on random fleets of all eras and clients."""

from base64 import b64decode
from collections import Counter
from functools import cache

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.records import decode
from coordinator_core.simulation import (
    BrokerLogLine,
    SimulatedCluster,
    TraceLine,
    TruthLine,
    WrittenBatch,
    fleet_of,
    simulate,
)
from coordinator_core.simulation.random_fleets import random_fleet

pytestmark = pytest.mark.slow

START_MS = 1_795_161_600_000
SEEDS = range(10)


@cache
def played(seed):
    return outputs_of(random_fleet(seed, minutes=8))


def outputs_of(values, **options):
    return list(simulate(fleet_of(values), START_MS, **options))


@pytest.mark.parametrize("seed", SEEDS)
def test_skipping_idle_time_does_not_change_the_output(seed):
    assert played(seed) == outputs_of(random_fleet(seed, minutes=8), skips_idle=False)


@pytest.mark.parametrize("era", ERAS)
def test_most_of_a_quiet_day_is_skipped_with_the_same_output(era):
    fleet = random_fleet(1, eras=[era], minutes=4, faults=False)
    for group in fleet["groups"]:
        group.pop("commit_interval", None)
        group["metadata_max_age"] = "30m"
        group["plans"] = [
            {"kind": "start", "at": "1s", "spread": "2s"},
            {"kind": "kill", "at": "50m", "pick": 1, "down": "30s"},
        ]
    fleet["length"] = "1h"
    played, skipped = (
        SimulatedCluster(fleet_of(fleet), START_MS, 1, skips_idle=False),
        SimulatedCluster(fleet_of(fleet), START_MS, 1),
    )

    assert list(skipped.run()) == list(played.run())
    assert skipped.idle_skipper.skipped_ms > 0.9 * 3_600_000 * len(fleet["groups"])


def test_the_output_depends_on_the_seed_only():
    fleet = random_fleet(3, minutes=6)

    assert outputs_of(fleet) == outputs_of(fleet)
    assert outputs_of(fleet) != outputs_of(fleet, seed=4)


@pytest.mark.parametrize("seed", [2, 5])
def test_a_groups_output_does_not_depend_on_other_groups(seed):
    fleet = random_fleet(seed, minutes=6)
    fleet["groups"] += [
        group | {"name": f"{group['name']}-more-{n}"} for group in fleet["groups"] for n in range(3)
    ]

    together = outputs_of(fleet)
    apart = [outputs_of(fleet, partitions=frozenset([n])) for n in range(3)]

    for kind in (WrittenBatch, BrokerLogLine):
        assert Counter(o for o in together if isinstance(o, kind)) == Counter(
            o for outputs in apart for o in outputs if isinstance(o, kind)
        )
    for n in range(3):
        assert [o for o in together if isinstance(o, WrittenBatch) and o.partition == n] == [
            o for o in apart[n] if isinstance(o, WrittenBatch)
        ]


@pytest.mark.parametrize("seed", SEEDS)
def test_offsets_are_consecutive_and_times_never_decrease(seed):
    outputs = played(seed)
    ends, times = Counter(), {}

    for output in outputs:
        if isinstance(output, WrittenBatch):
            assert output.base_offset == ends[output.partition]
            ends[output.partition] += len(output.records)
        if isinstance(output, WrittenBatch | BrokerLogLine):
            key = type(output), getattr(output, "broker_id", 0)
            assert output.at_ms >= times.get(key, START_MS)
            times[key] = output.at_ms


@pytest.mark.parametrize("seed", SEEDS)
def test_the_trace_has_exactly_the_written_records(seed):
    outputs = played(seed)
    traced = [o.event for o in outputs if isinstance(o, TraceLine) and o.event["event"] == "record"]
    written = [
        (output.at_ms - START_MS, *record)
        for output in outputs
        if isinstance(output, WrittenBatch)
        for record in output.records
    ]

    assert [(e["at_ms"], bytes_of(e["key"]), bytes_of(e["value"])) for e in traced] == written


def bytes_of(text):
    return None if text is None else b64decode(text)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_truth_has_the_members_of_every_group_record(seed):
    outputs = played(seed)
    truth_lines = {
        (o.truth["group"], o.truth["incarnation"], o.truth["generation"]): o.truth
        for o in outputs
        if isinstance(o, TruthLine) and o.truth["truth"] == "generation"
    }
    by_group = {}
    for (group, _, generation), truth in truth_lines.items():
        by_group.setdefault((group, generation), []).append(truth)

    records = [
        decode(*record) for o in outputs if isinstance(o, WrittenBatch) for record in o.records
    ]
    for record in records:
        if record.name != "GroupMetadata" or not (record.value and record.value["members"]):
            continue
        truths = by_group[record.key["group"], record.value["generation"]]
        ids = {member["member_id"] for member in record.value["members"]}
        assert any(ids <= {m["member_id"] for m in truth["members"]} for truth in truths)


def test_the_truth_has_each_generation_number_once():
    for seed in SEEDS:
        outputs = played(seed)
        truth_lines = Counter(
            (o.truth["group"], o.truth["incarnation"], o.truth["generation"])
            for o in outputs
            if isinstance(o, TruthLine) and o.truth["truth"] == "generation"
        )

        assert max(truth_lines.values()) == 1, f"seed {seed}"
