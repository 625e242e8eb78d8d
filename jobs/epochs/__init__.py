"""Groups of the new types in the tables: each incarnation's records played by one Python worker.

The rules are in `coordinator_core.epochs`; this package brings a group's evidence to them and their
results into the tables' columns.

- inputs:     what jobs read about these groups
- evidence:   the records and lines of each incarnation as one frame; rows of it as values
- played:     plays each incarnation; the rows of one table
- rows:       a history as rows of each table
"""
