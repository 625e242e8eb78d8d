"""``regroup simulate``: runs a simulated fleet, into files or into a lake.

The simulation itself is coordinator_core/simulation; this package reads its spec and writes its
output.

- ``spec_file``: reads a spec (TOML) and reports what is wrong with it.
- ``output_files``: segment files, server.log, trace and truth of one simulation.
- ``into_lake``: a fleet of any size as Spark tasks, straight into bronze tables.
- ``command``: the command with its two modes.
"""
