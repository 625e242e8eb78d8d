"""The automaton of a classic group on one page: the reaction of each state to each input.

A row is one input, a column one of the five states.  Checks of the request itself (unknown member,
wrong generation, no such group) come before the grid, so ``never`` marks a cell that no checked
input reaches.  An era is the cells in which it differs from the next newer one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.handlers import (
    commit,
    delete,
    describe,
    heartbeat,
    join,
    sync,
)
from coordinator_core.coordinator.classic.rebalance import (
    check_join,
    complete_if_all_joined,
    nothing,
    prepare,
    remove_unsynced,
)
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.era import Grid, Reaction
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import CoordinatorBug


def never(turn: Turn, group: ClassicGroup, subject: Any) -> None:
    raise CoordinatorBug(f"{type(subject).__name__} reached {group.state.value} unchecked")


def row(*reactions: Reaction[Turn]) -> Mapping[GroupState, Reaction[Turn]]:
    """One reaction per state, in the order of GroupState; a short row fails at import."""
    return dict(zip(GroupState, reactions, strict=True))


# fmt: off
GRID_4_1: Grid[Turn] = {
    #                                  EMPTY                           PREPARING_REBALANCE             COMPLETING_REBALANCE            STABLE                          DEAD
    Input.NEW_MEMBER_NEEDS_ID:     row(join.require_id,                join.require_id,                join.require_id,                join.require_id,                never),
    Input.NEW_MEMBER:              row(join.add,                       join.add,                       join.add,                       join.add,                       never),
    Input.STATIC_MEMBER_RETURNS:   row(join.replace_impossible,        join.replace_and_wait,          join.replace_and_rebalance,     join.replace_and_store,         never),
    Input.REJOIN_UNCHANGED_LEADER: row(never,                          join.rejoin_in_rebalance,       join.answer_again,              join.rejoin_of_leader,          never),
    Input.REJOIN_UNCHANGED_FOLLOWER: row(never,                        join.rejoin_in_rebalance,       join.answer_again,              join.answer_again,              never),
    Input.REJOIN_CHANGED_LEADER:   row(never,                          join.rejoin_in_rebalance,       join.rejoin_changed,            join.rejoin_of_leader,          never),
    Input.REJOIN_CHANGED_FOLLOWER: row(never,                          join.rejoin_in_rebalance,       join.rejoin_changed,            join.rejoin_changed,            never),
    Input.SYNC_LEADER:             row(never,                          sync.refuse,                    sync.store,                     sync.resend,                    never),
    Input.SYNC_FOLLOWER:           row(never,                          sync.refuse,                    sync.wait,                      sync.resend,                    never),
    Input.ASSIGNMENT_STORED:       row(nothing,                        nothing,                        sync.become_stable,             nothing,                        nothing),
    Input.ASSIGNMENT_NOT_STORED:   row(nothing,                        nothing,                        sync.rebalance_again,           nothing,                        nothing),
    Input.SYNC_EXPIRED:            row(nothing,                        nothing,                        remove_unsynced,                remove_unsynced,                nothing),
    Input.HEARTBEAT:               row(never,                          heartbeat.ask_to_rejoin,        heartbeat.keep_alive,           heartbeat.keep_alive,           never),
    Input.MEMBER_LEFT:             row(nothing,                        check_join,                     prepare,                        prepare,                        nothing),
    Input.MEMBER_FAILED:           row(nothing,                        complete_if_all_joined,         prepare,                        prepare,                        nothing),
    Input.PENDING_MEMBER_LEFT:     row(nothing,                        check_join,                     prepare,                        prepare,                        nothing),
    Input.PENDING_MEMBER_FAILED:   row(nothing,                        complete_if_all_joined,         nothing,                        nothing,                        nothing),
    Input.COMMIT:                  row(commit.store,                   commit.store_keeping_alive,     commit.refuse,                  commit.store_keeping_alive,     never),
    Input.DESCRIBE:                row(describe.show_with_assignments, describe.show_with_assignments, describe.show_with_assignments, describe.show_with_metadata,    never),
    Input.DELETE:                  row(delete.delete_when_written,     delete.refuse,                  delete.refuse,                  delete.refuse,                  never),
}

# The Scala coordinator; KIP-848 replaced the Scala coordinator by a Java coordinator.
GRID_3_9: Grid[Turn] = {**GRID_4_1,
    Input.SYNC_LEADER:             row(never,                          sync.refuse,                    sync.store,                     sync.resend_renewing,           never),
    Input.SYNC_FOLLOWER:           row(never,                          sync.refuse,                    sync.wait,                      sync.resend_renewing,           never),
    Input.MEMBER_FAILED:           row(nothing,                        check_join,                     prepare,                        prepare,                        nothing),
    Input.PENDING_MEMBER_LEFT:     row(nothing,                        check_join,                     nothing,                        nothing,                        nothing),
    Input.PENDING_MEMBER_FAILED:   row(nothing,                        check_join,                     nothing,                        nothing,                        nothing),
    Input.DESCRIBE:                row(describe.show,                  describe.show,                  describe.show,                  describe.show_with_metadata,    never),
    Input.DELETE:                  row(delete.delete,                  delete.refuse,                  delete.refuse,                  delete.refuse,                  never),
}

# Eras before KAFKA-10134 (which accepts heartbeats between join and sync, and gives a leader's
# rejoin its own reason) and KAFKA-10284 (which stores a static member's new id).
GRID_2_5: Grid[Turn] = {**GRID_3_9,
    Input.HEARTBEAT:               row(never,                          heartbeat.ask_to_rejoin,        heartbeat.ask_not_renewing,     heartbeat.keep_alive,           never),
    Input.STATIC_MEMBER_RETURNS:   row(join.replace_impossible,        join.replace_and_wait,          join.replace_and_rebalance,     join.replace_and_answer,        never),
    Input.REJOIN_UNCHANGED_LEADER: row(never,                          join.rejoin_in_rebalance,       join.answer_again,              join.rejoin_changed,            never),
    Input.REJOIN_CHANGED_LEADER:   row(never,                          join.rejoin_in_rebalance,       join.rejoin_changed,            join.rejoin_changed,            never),
}

# Before KIP-345 and KIP-394 there are neither static nor pending members.
GRID_2_0: Grid[Turn] = {**GRID_2_5,
    Input.NEW_MEMBER_NEEDS_ID:     row(never,                          never,                          never,                          never,                          never),
    Input.STATIC_MEMBER_RETURNS:   row(never,                          never,                          never,                          never,                          never),
    Input.PENDING_MEMBER_LEFT:     row(never,                          never,                          never,                          never,                          never),
    Input.PENDING_MEMBER_FAILED:   row(never,                          never,                          never,                          never,                          never),
}

# Before KAFKA-2720 a new group is Stable without members, and waiting for the leader's sync renews
# the session.
GRID_0_9: Grid[Turn] = {**GRID_2_0,
    Input.SYNC_LEADER:             row(never,                          sync.refuse,                    sync.store_renewing,            sync.resend_renewing,           never),
    Input.SYNC_FOLLOWER:           row(never,                          sync.refuse,                    sync.wait_renewing,             sync.resend_renewing,           never),
    Input.HEARTBEAT:               row(never,                          never,                          never,                          heartbeat.keep_alive,           never),
}
# fmt: on
