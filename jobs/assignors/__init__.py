"""Assignors re-run on recorded generations, for the job ``assign_partitions``; `regroup assign`.

The question is, for each recorded rebalance: what would each assignor have assigned, how balanced
and how sticky would the assignment have been, and does the group's own assignor return what the
leader sent?

Steps.  A step runs an assignor on a generation with the partitions that members actually owned
before, so it compares assignors on the same situation. The group's own assignor reads the recorded
subscription bytes, as the leader did. If its result differs from the stored assignment, the column
`difference` has the reason.

Chains.  A chain runs an assignor on its own previous result, generation after generation, so it
shows the long-term effect: an assignor that moves few partitions per step may drift out of
balance. A chain has one link per generation and ends at the end of a chunk.

Chunks.  A step depends on the previous generation only, so an incarnation's generations are cut
into chunks that run in parallel; each chunk also gets the last generation before it ("carried").

- recorded:          a recorded generation, decoded: members, claims, actual assignment
- rerun:             steps and chains of one frame of chunks, Arrow in and out
- partition_counts:  number of partitions of a topic at a time
- forced_moves:      minimum number of moves per generation, for the job `churn`
- command:           `regroup assign`
"""
