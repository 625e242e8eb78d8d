"""`regroup investigate`: why does this group keep rebalancing?

The command reads logs and records into a lake of its own, which it deletes at the end, or it reads
a lake that nightly filled.  Its answer has the known problems, the episodes and their cost, the
change of settings that would save most, and the missing evidence and how to get it.

answer            what the lake says, as rows
missing_evidence  what the lake cannot say, and which source would say it
headline          the answer in one sentence per group
documents         the answer as JSON, as text for a terminal, and as Markdown for a ticket
command           the command line
"""
