"""Handles responses to OffsetCommit and OffsetFetch."""

from __future__ import annotations

from typing import Any

from coordinator_core.client.context import InFlight
from coordinator_core.client.librdkafka.group import LibrdkafkaGroup
from coordinator_core.client.librdkafka.partitions import MAX_RETRIES, PendingCommit, PendingFetch
from coordinator_core.client.librdkafka.states import ConsumerError
from coordinator_core.client.reactions import Reaction
from coordinator_core.protocol.errors import Errors


class OffsetResponses:
    def __init__(self, group: LibrdkafkaGroup) -> None:
        self.group = group
        self.context = group.context

    def committed(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        group = self.group
        commit: PendingCommit = sent.attachment
        if response is not None:
            self.context.measure("commit", sent.sent_ms, error.name)
        if reaction is Reaction.GO_ON:
            self.context.metrics.commits += 1
        elif reaction is Reaction.FIND:
            self.context.coordinator = None
            group.find_coordinator()
            group.partitions.deferred.append(commit)
            return
        elif reaction is Reaction.RETRY and commit.retries < MAX_RETRIES:
            group.partitions.retry(commit)
            return
        elif reaction is Reaction.RENEW or (
            reaction is Reaction.RESET and not group.is_rebalancing
        ):
            group.forget(error, reaction)
            group.revoke_all_and_rejoin_unless_rebalancing(
                f"OffsetCommit error: {error.name}", is_lost=True
            )
        elif reaction is Reaction.FENCED:
            group.fail(error)
        if reaction is not Reaction.GO_ON and commit.is_manual:
            group.queue.append(ConsumerError(error, f"Commit failed: {error.name}"))
        group.partitions.committed()

    def fetched(self, sent: InFlight, response: Any, error: Errors, reaction: Reaction) -> None:
        group, context = self.group, self.context
        fetch: PendingFetch = sent.attachment
        group.partitions.fetches -= 1
        if reaction is Reaction.GO_ON:
            context.measure("offset-fetch", sent.sent_ms, f"{len(fetch.partitions)} partitions")
            for topic, partition, offset, _, _ in response.partitions:
                if (topic, partition) in context.unfetched:
                    context.positions[topic, partition] = max(offset, 0)
                    context.unfetched.discard((topic, partition))
        elif reaction in (Reaction.FIND, Reaction.RETRY):
            group.partitions.fetch_again()
            if reaction is Reaction.FIND:
                group.find_coordinator()
        elif reaction is Reaction.RAISE:
            group.queue.append(
                ConsumerError(error, f"Failed to fetch committed offsets: {error.name}")
            )
            context.unfetched.difference_update(fetch.partitions)
        group.partitions.serve()
