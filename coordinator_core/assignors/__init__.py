"""Partition assignors with Kafka's own results, list order included, under one signature."""

from __future__ import annotations

from coordinator_core.assignors import range, roundrobin, sticky, uniform
from coordinator_core.assignors.model import (
    NO_GENERATION,
    Assignment,
    Assignor,
    AssignorError,
    Member,
    TopicPartition,
    Topics,
)

CLIENT_ASSIGNORS: dict[str, Assignor] = {
    "range": range.assign,
    "roundrobin": roundrobin.assign,
    "sticky": sticky.assign,
    "cooperative-sticky": sticky.assign_cooperative,
}
SERVER_ASSIGNORS: dict[str, Assignor] = {
    "uniform": uniform.assign,
    "server-range": range.assign_on_server,
}
ASSIGNORS: dict[str, Assignor] = CLIENT_ASSIGNORS | SERVER_ASSIGNORS

__all__ = [
    "ASSIGNORS",
    "CLIENT_ASSIGNORS",
    "NO_GENERATION",
    "SERVER_ASSIGNORS",
    "Assignment",
    "Assignor",
    "AssignorError",
    "Member",
    "TopicPartition",
    "Topics",
]
