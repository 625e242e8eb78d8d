"""The timers of a classic group: its members' sessions, joins and syncs.

Handlers and reactions use the protocol ``Timers`` only.  Each era chooses an implementation, and a
coordinator has one object of it:

delayed_operations  up to 3.9: operations in purgatories, completed when their condition holds
scheduled_timers    4.x (KIP-848): timers by key, which look up the group when they fire
"""

from __future__ import annotations

from typing import Protocol

from coordinator_core.coordinator.classic.group import ClassicGroup, ClassicMember


class JoinWait(Protocol):
    """The wait for the joins of one rebalance.

    ``is_initial`` marks an Empty group's first rebalance (KIP-134), which waits for a time,
    not for members.
    """

    deadline_ms: int

    @property
    def is_initial(self) -> bool: ...


class Timers(Protocol):
    def __len__(self) -> int:
        """The number of timers that are set."""
        ...

    def renew_session(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int) -> None:
        """Restart the member's session: a request of the member arrived."""
        ...

    def watch_pending(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """Wait for the join with a member id that was handed out (KIP-394)."""
        ...

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        """Stop the session of a member that was removed or is about to be."""
        ...

    def start_join(self, group: ClassicGroup, is_initial: bool) -> None:
        """Wait for members to join; complete the join at once if all have."""
        ...

    def start_initial_join(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        """Wait for ``delay_ms`` (KIP-134); joins may extend the wait by ``remaining_ms`` in all."""
        ...

    def check_join(self, group: ClassicGroup) -> None:
        """Complete the join if all members have joined."""
        ...

    def cancel_join(self, group: ClassicGroup) -> None: ...

    def start_sync(self, group: ClassicGroup) -> None:
        """Wait for the members' syncs in the present generation (KAFKA-12890)."""
        ...

    def check_sync(self, group: ClassicGroup) -> None:
        """Stop waiting for syncs if none is pending."""
        ...

    def cancel_all(self, group: ClassicGroup) -> None:
        """Cancel every timer of a group that the coordinator unloads."""
        ...

    def join_waits(self, group_id: str) -> tuple[JoinWait, ...]:
        """The group's wait for joins, oldest first if there are several."""
        ...


def initial_delay(delay_ms: int, group: ClassicGroup) -> tuple[int, int]:
    """The initial delay, and the time by which new members may extend it."""
    return delay_ms, max(group.rebalance_timeout_ms() - delay_ms, 0)


def extended_delay(configured_ms: int, delay_ms: int, remaining_ms: int) -> tuple[int, int]:
    """The next delay after one of ``delay_ms``, and the time that remains after it."""
    return min(configured_ms, remaining_ms), max(remaining_ms - delay_ms, 0)
