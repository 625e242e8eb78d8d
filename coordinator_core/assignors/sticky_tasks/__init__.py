"""Sticky: the assignor of streams groups (KIP-1071), which assigns tasks instead of partitions.

A topology consists of subtopologies; task n of a subtopology reads partition n of all its input
topics.  An active task processes records; a standby task of a stateful subtopology keeps a copy of
the task's state on another process.  A process has one member per thread.  A task goes back to the
member that had it, else to a member that had its standby, as long as that member has room.  All
other tasks go to the process with the fewest tasks per member.  A process never has the same task
twice.

Since 4.2 (``assignor``), room is a quota of tasks per member, and ties between processes and
members follow from Java's hash tables and priority queues. 4.1 (``pairs``) also avoids that the
same two tasks meet on a process again.  If processes have equally many tasks per member, 4.1
chooses by identity hash codes, which means by chance; here the first process is chosen.

Kafka 4.4.0 neither assigns warm-up tasks, nor takes notice of racks and client tags.

- model:     the classes StreamsMember, Subtopology, Task, Tasks
- processes: ProcessState
- assignor:  StickyTaskAssignor of 4.2 and later
- pairs:     StickyTaskAssignor of 4.1
"""

from coordinator_core.assignors.sticky_tasks.assignor import assign
from coordinator_core.assignors.sticky_tasks.model import TaskAssignee, Tasks, TaskSubtopology
from coordinator_core.assignors.sticky_tasks.pairs import assign_avoiding_pairs

__all__ = ["TaskAssignee", "TaskSubtopology", "Tasks", "assign", "assign_avoiding_pairs"]
