"""Modern groups in the tables: each incarnation's records played by one Python worker.

The rules are in `coordinator_core.modern_history`; this package brings a group's evidence to them
and their results into the tables' columns.  A run plays each incarnation once, for all of its jobs.

- evidence:   the records and lines of each incarnation as one frame; rows of it as values
- played:     plays each incarnation; the rows of each table
- rows:       a history as rows of each table
- tenures:    when each process owned each partition, and the commits that show it
- lives:      the process lives of these groups
"""
