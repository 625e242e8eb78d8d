"""Answers to commits and offset fetches."""

from __future__ import annotations

from typing import Any

from coordinator_core.client.librdkafka.group import Group
from coordinator_core.client.librdkafka.partitions import MAX_RETRIES, Commit, Fetch
from coordinator_core.client.librdkafka.states import Problem
from coordinator_core.client.reactions import Reaction
from coordinator_core.client.shell import InFlight
from coordinator_core.protocol.errors import Errors


class OffsetAnswers:
    def __init__(self, group: Group) -> None:
        self.group = group
        self.shell = group.shell

    def committed(self, sent: InFlight, response: Any, error: Errors, what: Reaction) -> None:
        group = self.group
        commit: Commit = sent.what
        if response is not None:
            self.shell.measure("commit", sent.sent_ms, error.name)
        if what is Reaction.GO_ON:
            self.shell.metrics.commits += 1
        elif what is Reaction.FIND:
            self.shell.coordinator = None
            group.find_coordinator()
            group.partitions.deferred.append(commit)
            return
        elif what is Reaction.RETRY and commit.retries < MAX_RETRIES:
            group.partitions.retry(commit)
            return
        elif what is Reaction.RENEW or (what is Reaction.RESET and not group.is_rebalancing):
            group.forget(error, what)
            group.revoke_all_and_rejoin_unless_rebalancing(
                f"OffsetCommit error: {error.name}", is_lost=True
            )
        elif what is Reaction.FENCED:
            group.fail(error)
        if what is not Reaction.GO_ON and commit.is_manual:
            group.queue.append(Problem(error, f"Commit failed: {error.name}"))
        group.partitions.committed()

    def fetched(self, sent: InFlight, response: Any, error: Errors, what: Reaction) -> None:
        group, shell = self.group, self.shell
        fetch: Fetch = sent.what
        group.partitions.fetches -= 1
        if what is Reaction.GO_ON:
            shell.measure("offset-fetch", sent.sent_ms, f"{len(fetch.partitions)} partitions")
            for topic, partition, offset, _, _ in response.partitions:
                if (topic, partition) in shell.unfetched:
                    shell.positions[topic, partition] = max(offset, 0)
                    shell.unfetched.discard((topic, partition))
        elif what in (Reaction.FIND, Reaction.RETRY):
            group.partitions.fetch_again()
            if what is Reaction.FIND:
                group.find_coordinator()
        elif what is Reaction.RAISE:
            group.queue.append(Problem(error, f"Failed to fetch committed offsets: {error.name}"))
            shell.unfetched.difference_update(fetch.partitions)
        group.partitions.serve()
