"""Times kafka-python's assignors, in its own venv.  Arguments: SECONDS ASSIGNOR FILE."""

import json
import logging
import statistics
import sys
import time
from collections import namedtuple

from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.structs import TopicPartition

Joined = namedtuple("Joined", "member_id group_instance_id metadata")


class Cluster:
    """The part of the client's metadata that assignors use."""

    def __init__(self, topics):
        self._partitions = {t: set(range(info["partitions"])) for t, info in topics.items()}

    def topics(self):
        return set(self._partitions)

    def partitions_for_topic(self, topic):
        return self._partitions.get(topic)


def prepared(name, case):
    cluster = Cluster(case["topics"])
    if name == "sticky":
        assignor = StickyPartitionAssignor()
        members = [Joined(m["id"], None, sticky_metadata(m)) for m in case["members"]]
    else:
        assignor = RangePartitionAssignor if name == "range" else RoundRobinPartitionAssignor
        members = [Joined(m["id"], None, assignor.metadata(m["topics"])) for m in case["members"]]
    return lambda: assignor.assign(cluster, members)


def sticky_metadata(member):
    owned = [TopicPartition(*pair) for pair in member["owned"]]
    generation = -1 if member["generation"] is None else member["generation"]
    return StickyPartitionAssignor._metadata(member["topics"], owned, generation)


def measured(name, case, seconds):
    """Milliseconds of each run: at least three runs, fewer if these take more than 8 s."""
    times, spent = [], 0.0
    while spent < 8 and len(times) < 5000 and (len(times) < 3 or spent < seconds):
        run = prepared(name, case)
        start = time.perf_counter()
        run()
        took = time.perf_counter() - start
        times.append(took * 1e3)
        spent += took
    return times


def main():
    logging.disable(logging.CRITICAL)
    seconds, name = float(sys.argv[1]), sys.argv[2]
    with open(sys.argv[3]) as file:
        case = json.load(file)
    measured(name, case, seconds)
    times = measured(name, case, seconds)
    print(json.dumps({"median_ms": statistics.median(times), "runs": len(times)}))


main()
